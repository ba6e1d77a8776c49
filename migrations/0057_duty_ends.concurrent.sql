create index concurrently drivers_duty_ends on drivers (on_duty_until) where on_duty_until is not null;
