-- When a refused charge is tried again by itself: part of what stores are told of it.
update told_events set details = '{code,retry_after_seconds}' where event = 'payment_failed';
