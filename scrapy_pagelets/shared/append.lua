#!lua
-- Append an entry to the log of contents. Returns the length of the log, 0 if Redis does not know the crawl any more.
-- KEYS: the prefix of all keys. ARGV: the entry.
if redis.call("EXISTS", KEYS[1] .. "crawl") == 0 then return 0 end
return redis.call("RPUSH", KEYS[1] .. "contents", ARGV[1])
