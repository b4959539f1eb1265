-- Asks the requests of a file one after another (a path a line, or a path, a tab and a body),
-- each once or, where PDS_BENCH_REPEAT is set, from the beginning again. Prints what came of it as JSON.

local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *now);
]]
local CLOCK_MONOTONIC = 1

local function seconds()
  local now = ffi.new("moment")
  ffi.C.clock_gettime(CLOCK_MONOTONIC, now)
  return tonumber(now.seconds) + tonumber(now.nanoseconds) / 1e9
end

local the_thread
function setup(thread)
  the_thread = thread
end

local requests = {}
local position = 0
local repeats = os.getenv("PDS_BENCH_REPEAT") == "1"
local quiet = 0

function init()
  for line in io.lines(os.getenv("PDS_BENCH_REQUESTS")) do
    local path, body = line:match("^(.-)\t(.*)$")
    if body then
      requests[#requests + 1] = wrk.format("POST", path, nil, body)
    else
      requests[#requests + 1] = wrk.format("GET", line)
    end
  end
end

started_at = 0
exhausted_at = 0

function request()
  position = position + 1
  if position == 1 then started_at = seconds() end
  if position > #requests then
    if not repeats and exhausted_at == 0 then
      exhausted_at = seconds()
      wrk.thread:stop()
    end
    if repeats or exhausted_at > 0 then position = 1 end
  end
  return requests[position]
end

function done(summary)
  local exhausted = the_thread:get("exhausted_at")
  local elapsed = summary.duration / 1e6
  if exhausted > 0 then elapsed = exhausted - the_thread:get("started_at") end
  local errors = summary.errors
  io.write(string.format('\n{"requests":%d,"seconds":%.6f,"failures":%d}\n', summary.requests, elapsed,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
