-- A message that was given up can be sent again, when somebody asks for it.
drop trigger outbox_ended_is_final;
create trigger outbox_goes_only_its_ways before update of state on outbox
when not (
    old.state = 'queued'
    or (old.state = 'dead' and new.state = 'queued' and new.attempt = 0)
)
begin
    select raise(abort, 'a message that was sent or given up does not change its state');
end;
