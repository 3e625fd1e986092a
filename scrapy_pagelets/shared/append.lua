#!lua
-- Append an entry to a log if nobody has appended another one since it was read. Returns 1, or 0 if somebody has.
-- KEYS: the prefix of all keys. ARGV: the number of entries that were read, the entry.
local log = KEYS[1] .. "contents"
if redis.call("LLEN", log) ~= tonumber(ARGV[1]) then return 0 end
redis.call("RPUSH", log, ARGV[2])
return 1
