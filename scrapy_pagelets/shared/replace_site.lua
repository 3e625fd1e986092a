#!lua
-- Write a site if nobody has written it since it was read. Returns 1, or 0 if somebody has.
-- KEYS: the prefix of all keys. ARGV: name of the site, the version that was read, the new
-- version, content.
local key = KEYS[1]
if (redis.call("HGET", key .. "versions", ARGV[1]) or "") ~= ARGV[2] then return 0 end
redis.call("HSET", key .. "versions", ARGV[1], ARGV[3])
redis.call("HSET", key .. "sites", ARGV[1], ARGV[4])
return 1
