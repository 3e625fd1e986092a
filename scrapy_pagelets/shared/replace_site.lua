#!lua
-- Write a site if nobody has written it since it was read. Returns 1, or 0 if somebody has.
-- KEYS: the prefix of all keys. ARGV: name of the site, the version that was read, content.
local key = KEYS[1]
if (redis.call("HGET", key .. "versions", ARGV[1]) or "0") ~= ARGV[2] then return 0 end
redis.call("HINCRBY", key .. "versions", ARGV[1], 1)
redis.call("HSET", key .. "sites", ARGV[1], ARGV[3])
return 1
