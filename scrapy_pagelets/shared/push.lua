#!lua
-- Add requests to the queue. Redis refuses the script as a whole if it has no memory left.
-- KEYS: the prefix of all keys. ARGV: the id of the crawl; for each request: fingerprint, "1" to drop a page that was
-- requested before, priority, content. Returns the number of requests that were dropped.
local key, dropped = KEYS[1], 0
if redis.call("GET", key .. "crawl") ~= ARGV[1] then return 0 end -- it is lost or finished: the next exchange says so
for i = 2, #ARGV, 4 do
  local page, filter, priority, content = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  if filter == "1" and redis.call("HEXISTS", key .. "pages", page) == 1 then
    dropped = dropped + 1
  else
    local number = redis.call("INCR", key .. "number")
    local id = page .. ":" .. number
    redis.call("HSETNX", key .. "pages", page, "queued")
    redis.call("HSET", key .. "requests", id, content)
    -- The highest priority first; of equal ones, the oldest.
    redis.call("ZADD", key .. "queue", number - priority * 4294967296, id)
  end
end
return dropped
