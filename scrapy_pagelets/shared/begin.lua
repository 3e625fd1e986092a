#!lua
-- Join a crawl, or begin it. Returns the id and the meaning of the crawl, nothing if it has finished a short while ago.
-- KEYS: the prefix of all keys. ARGV: the id of a new crawl, its meaning, the names of all keys of a crawl.
local key = KEYS[1]
if redis.call("EXISTS", key .. "finished") == 1 then return {} end
if redis.call("EXISTS", key .. "crawl") == 0 then
  -- A process whose crawl Redis has lost may have written something since.
  for i = 3, #ARGV do redis.call("UNLINK", key .. ARGV[i]) end
  redis.call("SET", key .. "crawl", ARGV[1])
  redis.call("SET", key .. "meaning", ARGV[2])
end
return {redis.call("GET", key .. "crawl"), redis.call("GET", key .. "meaning")}
