-- Texts that Twilio took and no carrier did, for the sake of the sender: they are sent again, and stores go on to see
-- them as sent. A version before shows such a text as queued, and sends it as well.
alter table texts add column was_sent boolean not null default false;
