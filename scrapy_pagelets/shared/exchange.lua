#!lua flags=allow-oom
-- One exchange between a worker and the frontier: what the worker has done, and what it gets to do.
-- Most of it frees memory, so it also runs when Redis is full.
-- KEYS: the prefix of all keys. ARGV: a JSON object, see `Frontier.exchange`.
-- Returns {"restarted"}, {"lost"}, {"finished"} or {"going on", queued, leased, held, id, content, probed, id, content, probed, ...}.
local key, about = KEYS[1], cjson.decode(ARGV[1])
local worker, time = about.worker, redis.call("TIME")
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000

-- A worker that has not noticed that Redis was restarted has to tell again what was lost, before it gets anything.
if not string.find(redis.call("INFO", "server"), about.run, 1, true) then return {"restarted"} end
if redis.call("GET", key .. "crawl") ~= about.crawl then
  return {redis.call("GET", key .. "finished") == about.crawl and "finished" or "lost"}
end

local function queue_again(id)
  redis.call("HDEL", key .. "leases", id)
  redis.call("HDEL", key .. "held", id)
  if redis.call("HEXISTS", key .. "requests", id) == 1 then
    -- What was interrupted goes first.
    redis.call("ZADD", key .. "queue", tonumber(string.match(id, ":(%d+)$")) - 1099511627776, id)
  end
end

local function of(hash, name)
  local found, all = {}, redis.call("HGETALL", key .. hash)
  for i = 1, #all, 2 do
    if all[i + 1] == name then found[#found + 1] = all[i] end
  end
  return found
end

local function release(name)
  for _, hash in ipairs({"probing", "searching"}) do
    for _, field in ipairs(of(hash, name)) do redis.call("HDEL", key .. hash, field) end
  end
end

local function forget(name)
  for _, hash in ipairs({"leases", "held"}) do
    for _, id in ipairs(of(hash, name)) do queue_again(id) end
  end
  release(name)
  redis.call("ZREM", key .. "workers", name)
  redis.call("SREM", key .. "ready", name)
end

-- After a time in which no worker could reach Redis, all of them look dead: give them time to come back.
local last = tonumber(redis.call("GET", key .. "last") or "0")
if now - last > about.lease / 2 then redis.call("SET", key .. "patience", now + about.lease) end
redis.call("SET", key .. "last", now)
redis.call("ZADD", key .. "workers", now, worker)
if now > tonumber(redis.call("GET", key .. "patience") or "0") then
  for _, dead in ipairs(redis.call("ZRANGEBYSCORE", key .. "workers", "-inf", now - about.lease)) do forget(dead) end
end

for _, id in ipairs(about.done) do
  redis.call("HDEL", key .. "leases", id)
  redis.call("HDEL", key .. "held", id)
  redis.call("ZREM", key .. "queue", id)
  redis.call("HDEL", key .. "requests", id)
  redis.call("HSET", key .. "pages", string.match(id, "^(.*):%d+$"), "requested") -- Redis may have lost it
end
for _, id in ipairs(about.held) do
  if redis.call("HGET", key .. "leases", id) == worker then
    redis.call("HDEL", key .. "leases", id)
    redis.call("HSET", key .. "held", id, worker)
  end
end
-- A reply was lost, or Redis has gone back to an earlier state: what the worker does not know about is queued again.
if about.has then
  local known = {}
  for _, id in ipairs(about.has) do
    known[id] = true
    if redis.call("ZREM", key .. "queue", id) == 1 then redis.call("HSET", key .. "leases", id, worker) end
  end
  for _, hash in ipairs({"leases", "held"}) do
    for _, id in ipairs(of(hash, worker)) do
      if not known[id] then queue_again(id) end
    end
  end
  release(worker)
end
if about.leaves then forget(worker) end

local reply = {}
if about.wants > 0 then
  -- Pages that are being loaded for a template are passed over: their responses will be here in a moment.
  for _, id in ipairs(redis.call("ZRANGE", key .. "queue", 0, about.wants + 63)) do
    local page = string.match(id, "^(.*):%d+$")
    if #reply < 3 * about.wants and redis.call("HEXISTS", key .. "probing", page) == 0 then
      redis.call("ZREM", key .. "queue", id)
      redis.call("HSET", key .. "leases", id, worker)
      redis.call("HSET", key .. "pages", page, "requested")
      reply[#reply + 1] = id
      reply[#reply + 1] = redis.call("HGET", key .. "requests", id)
      reply[#reply + 1] = redis.call("SISMEMBER", key .. "probed", page)
    end
  end
end

local queued = redis.call("ZCARD", key .. "queue")
local leased, held = redis.call("HLEN", key .. "leases"), redis.call("HLEN", key .. "held")
if about.ready then
  redis.call("SADD", key .. "ready", worker)
  if queued + leased + held == 0 and redis.call("SCARD", key .. "ready") == redis.call("ZCARD", key .. "workers") then
    for _, name in ipairs(about.names) do redis.call("UNLINK", key .. name) end
    redis.call("SET", key .. "finished", about.crawl, "EX", about.remembered)
    return {"finished"}
  end
else
  redis.call("SREM", key .. "ready", worker)
end
return {"going on", queued, leased, held, unpack(reply)}
