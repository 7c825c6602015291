/** Distance between the points of two consecutive slots, by the golden ratio. An even one would leave out every other point. */
const usualStride = 2654435769
/**
 * Stands for the distance if processes have turns. The point of a slot is then its number with the bits in reverse. So a slot
 * of half of the points of a place comes at every other turn of the place.
 */
export const strideInTurns = 1

/**
 * The script that Redis runs at each call of a process: Lua 5.1, for Redis 5 or later.
 *
 * The limit is a circle of 2^32 points. Each process holds arcs of the circle, which no other process holds, and `Slots`
 * derives the slots from them. With each call a process reports its demand, and receives the arcs that it holds until its next
 * call: it gives back arcs that it does not need, and takes free ones that it needs.
 *
 * `KEYS`: the members, and what all of them share. `ARGV`: see `Register`.
 */
export const fleetScript = `
local members, state = KEYS[1], KEYS[2]
local id, action, leaseMs = ARGV[1], ARGV[2], tonumber(ARGV[3])
local needPerSecond, wantPerSecond, claims = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local limit, header = tonumber(ARGV[7]), ARGV[8]
local license, knownAt, reads, wantsGuest = ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local rarePerSecond, isUrgent = tonumber(ARGV[13]), ARGV[14] == '1'
local headerAgeMs, turnsBefore, wantsMore = tonumber(ARGV[15]), tonumber(ARGV[16]), ARGV[17] == '1'
local knownBornMs = tonumber(ARGV[18])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local whole = 4294967296
-- After Redis was away, or came back empty, every process that holds arcs has called again within this time.
local returnMs, maxRetryMs = 2.5 * leaseMs, 2 * leaseMs
-- Maximum number of arcs of a process, and of free arcs. More free ones would make each call long.
local maxArcs, maxFree = 128, 256
local turnsFrom = 3
-- Number of processes for each place from which on places are halved: some are to be free for processes that start. And the
-- number below which two places become one: by then each process has several places beside each other.
local maxPerPlace, minPerPlace, maxRoundSeconds = 0.87, 0.2, 35
local guestPart = 0.03
-- Where many processes use the limit whole, no process holds this part of it, the pool. With each call, a busy process gets one
-- slot of the pool. Later slots of the pool are promised to no process, so that processes that start can take them. The pool has
-- fewer slots than there are calls.
local maxPoolPart, poolSlotsPerCall, manyProcesses = 0.2, 0.8, 16
-- A process of few requests is assumed to make so many per second in its first seconds, before more is known.
local unknownMs, unknownPerSecond = 2 * leaseMs, 0.5
-- Time constant of the count of processes that started lately. From that part of all processes on, and from a few on, the
-- fleet grows: as many again are expected to start. After growthMs the room is not kept for them any more. By then a deployment
-- has replaced the whole fleet, so that processes crash and start again and again. In turns no room is kept.
local joinsDecayMs, growthPart, fewJoins, growthMs = 1000, 0.03, 2, 12 * leaseMs

-- Where there are so many processes that each has to wait for seconds, the circle is cut into places, and each place has
-- its turn once in a round. A process holds one place, or more if it needs more of the limit; it may use slots of free places,
-- one after the other, as long as these are free. The number of places is a power of two: a process keeps half of its place
-- when the places are halved. Else the slots are spread by the golden ratio, which suits parts of any size.
local turns, place = 1, nil
local stride = ${usualStride}
-- A process that waits no longer than this for a slot of its own is no guest.
local soonMs = 0.3 * leaseMs

local function arcsIn(text, max)
  local arcs = {}
  for lo, hi in string.gmatch(text, '(%d+)-(%d+)') do
    lo, hi = tonumber(lo), tonumber(hi)
    if lo < hi and hi <= whole and #arcs < (max or maxArcs) then arcs[#arcs + 1] = { lo, hi } end
  end
  return arcs
end

local function textOf(arcs, max)
  local texts = {}
  for i = 1, math.min(#arcs, max or maxArcs) do texts[i] = string.format('%.0f-%.0f', arcs[i][1], arcs[i][2]) end
  return table.concat(texts, ' ')
end

local function lengthOf(arcs)
  local length = 0
  for _, arc in ipairs(arcs) do length = length + arc[2] - arc[1] end
  return length
end

local function byStart(a, b) return a[1] < b[1] end
local function byLength(a, b) return a[2] - a[1] < b[2] - b[1] end

-- Arcs that touch become one.
local function joined(arcs)
  local pieces = {}
  table.sort(arcs, byStart)
  for _, arc in ipairs(arcs) do
    local last = pieces[#pieces]
    if last and last[2] == arc[1] then last[2] = arc[2] else pieces[#pieces + 1] = arc end
  end
  return pieces
end

-- The gaps between the arcs.
local function complement(arcs)
  local free, from = {}, 0
  table.sort(arcs, byStart)
  for _, arc in ipairs(arcs) do
    if arc[1] > from then free[#free + 1] = { from, arc[1] } end
    from = math.max(from, arc[2])
  end
  if from < whole then free[#free + 1] = { from, whole } end
  return free
end

-- The intersection of two lists of arcs.
local function common(some, others)
  table.sort(some, byStart)
  table.sort(others, byStart)
  local both, i, j = {}, 1, 1
  while i <= #some and j <= #others and #both < maxFree do
    local a, b = some[i], others[j]
    local lo, hi = math.max(a[1], b[1]), math.min(a[2], b[2])
    if lo < hi then both[#both + 1] = { lo, hi } end
    if a[2] < b[2] then i = i + 1 else j = j + 1 end
  end
  return both
end

-- The whole places within the arcs.
local function placesIn(arcs, place)
  local places = {}
  for _, arc in ipairs(arcs) do
    local lo, hi = math.ceil(arc[1] / place) * place, math.floor(arc[2] / place) * place
    if lo < hi then places[#places + 1] = { lo, hi } end
  end
  return places
end

local function member(text)
  local untilMs, joinedMs, needed, wanted, arcs = string.match(text, '^(%S+) (%S+) (%S+) (%S+) ?(.*)$')
  return {
    untilMs = tonumber(untilMs), joinedMs = tonumber(joinedMs),
    need = tonumber(needed), want = tonumber(wanted),
    arcs = string.match(arcs, '^[^|]*'), lent = string.match(arcs, '|(.*)$') or '',
  }
end

-- Slots of its own would come too seldom for a process of few requests. Where the limit is used whole, such processes have
-- slots in common, the reserve: arcs that no process holds. Each asks for one when it has something to send.
local function isRare(one) return not place and limit > 0 and one.want * limit <= rarePerSecond end

-- The part of the limit that its requests take from the reserve.
local function reserveOf(one)
  if not isRare(one) then return 0 end
  return math.max(one.want, now - one.joinedMs < unknownMs and unknownPerSecond / limit or 0)
end

-- What a process needs and wants, and what it has of its own if it sends rarely. A process that would use it always keeps a
-- quarter of an equal part; any other keeps a twentieth, or one place.
local function demandOf(one, count)
  local least = place and place / whole or 0.05 / count
  local needed = math.max(one.need, math.min(one.want, 0.25 / count), least)
  return needed, math.max(one.want, needed), isRare(one) and least
end

-- The part of the limit that a process gets. The mode is 'need' while the limit is less than all need to lose no event, 'want'
-- while it is less than all could use, and 'spare' otherwise.
local function partOf(mode, level, needed, wanted, ofRare)
  if ofRare and mode ~= 'spare' then return ofRare end
  if mode == 'need' then return math.min(needed, level) end
  if mode == 'want' then return math.min(wanted, math.max(needed, level)) end
  return math.max(wanted, level)
end

-- The mode, the level at which all parts add up to the limit without the reserve, the reserve, which has room for so many
-- processes that are expected to start, and the part of it that is the pool.
local function levelFor(demands, expected, hasPool)
  local count, sumNeeded, sumWanted, reserve = #demands, 0, 0, 0
  local parts, lacking = {}, 0
  for i, one in ipairs(demands) do
    local needed, wanted, ofRare = demandOf(one, count)
    if wanted > 1 / count then lacking = lacking + 1 end
    parts[i] = { needed, wanted, ofRare }
    sumNeeded, sumWanted, reserve = sumNeeded + needed, sumWanted + wanted, reserve + reserveOf(one)
  end
  local mode = 'spare'
  if sumNeeded >= 1 then mode = 'need'
  elseif sumWanted >= 1 then mode = 'want'
  else reserve = count > 1 and math.min(0.05, (1 - sumWanted) / 2) or 0 end -- leaves some for newcomers
  -- Half of an equal part for the next process that starts: it would wait until others have given back theirs.
  local forRare, pool = reserve, 0
  if mode ~= 'spare' and not place and limit > 0 and count >= manyProcesses then
    if hasPool then pool = math.min(maxPoolPart, poolSlotsPerCall * 1000 * lacking / (leaseMs * limit)) end
    reserve = math.max(reserve, 0.5 / math.max(count, 40), pool)
  end
  -- Room for the processes that are expected: an equal part for each. With turns, the room is a part of the places, for processes
  -- that start or have missed their turn. Without it where so many free places cannot be listed, or where a round takes too long.
  local room = expected / (count + expected)
  if place then room = turns <= math.min(maxFree, maxRoundSeconds * limit) and 1 - maxPerPlace or 0 end
  reserve = math.max(reserve, room)
  reserve = math.min(reserve, 0.5)
  local low, high = 0, 1
  for _ = 1, 24 do
    local level, sum = (low + high) / 2, 0
    for _, part in ipairs(parts) do sum = sum + partOf(mode, level, part[1], part[2], part[3]) end
    if sum < 1 - reserve then low = level else high = level end
  end
  return mode, low, reserve, math.max(pool - forRare, 0)
end

-- A number from 0 to 1, another one for each process.
local function fractionOf(text)
  local hash = 0
  for i = 1, #text do hash = (hash * 31 + string.byte(text, i)) % 1000003 end
  return hash / 1000003
end

-- In places, or in steps of a sixteenth of an equal part: smaller ones would make dust of the arcs, larger ones leave gaps.
local function stepOf(count)
  return place or whole / 2 ^ math.ceil(math.log(16 * count) / math.log(2))
end

-- What each is sure to get: a step at the least.
local function sureOf(due, step) return math.max(math.floor(due / step), 1) * step end

-- Gives back from the largest piece, so that what becomes free is in one piece as well, but not the point of the next slot.
local function shortened(arcs, length, nextPoint)
  table.sort(arcs, byLength)
  local excess, kept = lengthOf(arcs) - length, {}
  for i = #arcs, 1, -1 do
    local lo, hi = arcs[i][1], arcs[i][2]
    local isNext = nextPoint and nextPoint >= lo and nextPoint < hi
    local less = math.min(excess, isNext and math.max(hi - lo - length, 0) or hi - lo)
    local left = hi - lo - less
    if isNext and nextPoint >= lo + left then lo = math.min(nextPoint, hi - left) end
    if place and lo >= whole / 2 then lo = hi - left end -- so that what becomes free is spread over the whole round
    if left > 0 then kept[#kept + 1] = { lo, lo + left } end
    excess = excess - less
  end
  return kept
end

-- The last 32 bits of a number in reverse.
local reversedBytes = {}
local function reversed(number)
  if not reversedBytes[1] then
    for byte = 0, 255 do
      local bits, left = 0, byte
      for _ = 1, 8 do bits, left = 2 * bits + left % 2, math.floor(left / 2) end
      reversedBytes[byte] = bits
    end
  end
  local point = 0
  for _ = 1, 4 do point, number = 256 * point + reversedBytes[number % 256], math.floor(number / 256) end
  return point
end

-- The free places one by one, first those whose turns are closest to the turns of other free places. If these are taken, the
-- turns of the places that stay free are spread over the whole round. Places beyond a maximum number stay in their pieces.
local function crowded(free)
  local places, rest = {}, {}
  for _, piece in ipairs(free) do
    local lo = piece[1]
    while lo < piece[2] and #places < maxFree do
      places[#places + 1] = { lo, lo + place, reversed(lo) }
      lo = lo + place
    end
    if lo < piece[2] then rest[#rest + 1] = { lo, piece[2] } end
  end
  table.sort(places, function(a, b) return a[3] < b[3] end)
  for i, one in ipairs(places) do
    local before, after = places[i - 1] or places[#places], places[i + 1] or places[1]
    one[4] = (after[3] - before[3] - 1) % turns
  end
  table.sort(places, function(a, b) return a[4] < b[4] or a[4] == b[4] and a[1] < b[1] end)
  for _, piece in ipairs(rest) do places[#places + 1] = piece end
  return places
end

-- Takes free arcs: first the arcs that touch arcs of the process, then the largest ones.
local function extended(arcs, length, free)
  for _, arc in ipairs(arcs) do
    for _, piece in ipairs(free) do
      if piece[1] == arc[2] then
        local taken = math.min(length, piece[2] - piece[1])
        arc[2], piece[1], length = arc[2] + taken, piece[1] + taken, length - taken
      end
    end
  end
  if place then free = crowded(free) else table.sort(free, function(a, b) return byLength(b, a) end) end
  local left = {}
  for _, piece in ipairs(free) do
    local taken = #arcs < maxArcs and math.min(length, piece[2] - piece[1]) or 0
    if taken > 0 then arcs[#arcs + 1] = { piece[1], piece[1] + taken } end
    if piece[1] + taken < piece[2] then left[#left + 1] = { piece[1] + taken, piece[2] } end
    length = length - taken
  end
  return arcs, left
end

-- The same length in fewer pieces, if free ones are large enough; pieces that touch count as one.
local function inFewerPieces(arcs, free)
  local all, length = {}, lengthOf(arcs)
  for _, some in ipairs({ arcs, free }) do
    for _, arc in ipairs(some) do all[#all + 1] = { arc[1], arc[2] } end
  end
  local pieces = joined(all)
  table.sort(pieces, function(a, b) return byLength(b, a) end)
  local kept, left = {}, {}
  for _, piece in ipairs(pieces) do
    local taken = math.min(length, piece[2] - piece[1])
    length = length - taken
    if taken > 0 then kept[#kept + 1] = { piece[1], piece[1] + taken } end
    if piece[1] + taken < piece[2] then left[#left + 1] = { piece[1] + taken, piece[2] } end
  end
  if #kept < #arcs then return kept, left end
  return arcs, free
end

-- Moves the arcs down into the free arcs below them, so that what is free gathers at the top of the circle.
local function movedDown(arcs, free)
  table.sort(arcs, byStart)
  local moved = {}
  for _, arc in ipairs(arcs) do
    for _, piece in ipairs(free) do
      if piece[2] == arc[1] then
        local length = arc[2] - arc[1]
        arc[1], arc[2] = piece[1], piece[1] + length
        piece[1], piece[2] = arc[2], piece[2] + length
        break
      end
    end
    moved[#moved + 1] = arc
  end
  return joined(moved), joined(free)
end

-- The free places that follow the places of a process in the round. No other process has a place before them.
local function following(arcs, free)
  local runs = {}
  local function add(fromPoint)
    for _, piece in ipairs(free) do
      if piece[1] == fromPoint then
        runs[#runs + 1] = piece
        if piece[2] == whole and fromPoint > 0 then add(0) end
      end
    end
  end
  for _, arc in ipairs(arcs) do add(arc[2] % whole) end
  return runs
end

if action == 'leave' then
  redis.call('HDEL', members, id)
  redis.call('HDEL', state, 'surveyedMs')
  if redis.call('HGET', state, 'reader') == id then redis.call('HDEL', state, 'reader') end
  return {}
end

-- Calls the function with the point and the time of each slot in a period, until it returns something.
local function nextSlots(fromMs, untilMs, visit)
  local slotMs = 1000 / (limit * 0.98)
  local first = math.ceil(fromMs / slotMs)
  local turn = first % whole
  local high, low = math.floor(turn / 65536), turn % 65536
  local point = (high * stride % 65536 * 65536 + low * stride) % whole
  -- Counted from zero: a number of a slot may be so large that adding one does not change it.
  for i = 0, math.min(math.floor(untilMs / slotMs) - first, 511) do
    local slot = first + i
    local found = visit(place and reversed(slot) or point, slot * slotMs)
    if found then return found end
    point = (point + stride) % whole
  end
end

local function holds(arcs, point)
  for _, arc in ipairs(arcs) do if point >= arc[1] and point < arc[2] then return true end end
  return false
end

-- Cuts an arc of that length out of the free arcs: the one whose slot comes first. It begins a multiple of that length after
-- the start of a free arc, so that others find room beside it. A slot that comes before the answer has arrived is left out.
local function soonest(free, length, fromMs)
  return nextSlots(fromMs, now + soonMs, function(point)
    for i, piece in ipairs(free) do
      if point >= piece[1] and point < piece[2] then
        local lo = piece[1] + math.floor((point - piece[1]) / length) * length
        local hi = math.min(lo + length, piece[2])
        if hi - lo < length and lo > piece[1] then return nil end
        if hi < piece[2] then free[#free + 1] = { hi, piece[2] } end
        if lo > piece[1] then piece[2] = lo else table.remove(free, i) end
        return { lo, hi }
      end
    end
  end)
end

-- The time and the point of the next slot of the arcs within some leases.
local function nextSlot(arcs)
  if limit <= 0 then return math.huge end
  local next = nextSlots(now, now + 4 * leaseMs, function(point, atMs)
    return holds(arcs, point) and { atMs, point }
  end)
  if next then return next[1], next[2] end
  return math.huge
end

local function hasSlotSoon(arcs) return nextSlot(arcs) <= now + soonMs end

-- True if one of the arcs can be moved down.
local function hasRoomBelow(arcs, pieces)
  for _, arc in ipairs(arcs) do
    for _, piece in ipairs(pieces) do if piece[2] == arc[1] then return true end end
  end
  return false
end

-- Rearranges arcs unless their first slot would come later: a process with few slots would wait for it again and again. What
-- is lent to others stays as it is: only these arcs may be used.
local function rearranged(how, arcs, free, usable)
  local function copied(pieces)
    local copies = {}
    for i, piece in ipairs(pieces) do copies[i] = { piece[1], piece[2] } end
    return copies
  end
  usable = joined(common(usable, free))
  if how == movedDown and not hasRoomBelow(arcs, usable) then return arcs, free end
  local newArcs, newFree = how(copied(arcs), copied(usable))
  if nextSlot(newArcs) > nextSlot(arcs) then return arcs, free end
  for _, arc in ipairs(common(free, complement(usable))) do newFree[#newFree + 1] = arc end
  return newArcs, joined(newFree)
end

local names = {
  'bornMs', 'returnedMs', 'calledMs', 'surveyedMs', 'count', 'mode', 'level', 'free', 'lostMs', 'guestMs',
  'header', 'headerMs', 'raisedMs', 'licenseAt', 'reader', 'readerMs', 'turns',
  'lacking', 'reserve', 'pool', 'unlent', 'reservedMs', 'joins', 'joinsMs', 'growsMs', 'heardMs', 'settledMs', 'steadyMs', 'reserved',
  'limit',
}
local values, s = redis.call('HMGET', state, unpack(names)), {}
for i, name in ipairs(names) do if values[i] and values[i] ~= '' then s[name] = values[i] end end
local function number(name)
  local value = tonumber(s[name]) or 0
  return value == value and value or 0
end
-- No fleet is larger. A wrong number must not keep the processes from being counted again.
for _, name in ipairs({ 'count', 'turns' }) do s[name] = math.min(number(name), 100000) end
-- Processes take an answer with such a limit or such a time for impossible.
if s.header and not (number('header') > 0.0166 and number('header') < 1e9 and #s.header <= 30) then s.header = nil end
if s.licenseAt and not (string.match(s.licenseAt, '^%d+$') and #s.licenseAt <= 13) then s.licenseAt = nil end
local changed = {}
local function set(name, value)
  s[name] = value ~= '' and value or nil
  changed[#changed + 1] = name
  changed[#changed + 1] = type(value) == 'number' and string.format('%.9g', value) or value
end
local function setMs(name, value) set(name, string.format('%.0f', value)) end

-- A process that starts does not know the limit yet. By the limit that others have reported, its first answer has a slot.
if limit and limit ~= number('limit') then set('limit', limit) end
limit = limit or number('limit')
local need, want = limit > 0 and needPerSecond / limit or 0, limit > 0 and wantPerSecond / limit or 0

-- The clock of Redis was set back, or another server took over: times of the future would not pass for as long. The
-- processes call again, as after Redis was away.
if s.calledMs and now < number('calledMs') - leaseMs / 5 then
  for _, name in ipairs(names) do
    if string.sub(name, -2) == 'Ms' and number(name) > now then setMs(name, now) end
  end
  s.surveyedMs = nil
  setMs('returnedMs', now)
end
-- A time further in the future than any that a process writes is wrong, and would not pass for as long.
for _, name in ipairs(names) do
  if string.sub(name, -2) == 'Ms' and number(name) > now + 4 * leaseMs then s[name] = nil end
end

-- The slots of free places that processes were given, and that are still to come: the time and the point of each. None is given
-- further ahead than a lease.
local reserved = {}
for atText, point in string.gmatch(s.reserved or '', '(%d+)-(%d+)') do
  local atMs = tonumber(atText)
  if atMs >= now and atMs <= now + leaseMs and #reserved < maxArcs then reserved[#reserved + 1] = { atMs, tonumber(point) } end
end

-- The free places without such a slot, and those with one: a process that took the place would use the slot, too.
local function withoutReserved(free)
  local places = {}
  for i, slot in ipairs(reserved) do
    local lo = math.floor(slot[2] / place) * place
    places[i] = { lo, lo + place }
  end
  local others = complement(places)
  return common(free, others), common(free, complement(others))
end

local record = redis.call('HGET', members, id)
local present = math.max(number('count'), 1) + (record and 0 or 1)
local joins = math.min(number('joins') * math.exp(math.min(number('joinsMs') - now, 0) / joinsDecayMs), present)
if not record and claims == '' then
  joins = joins + 1
  set('joins', joins)
  setMs('joinsMs', now)
end
local growsFrom = math.max(growthPart * present, fewJoins)
if joins > growsFrom and not s.growsMs then setMs('growsMs', now)
elseif joins < growsFrom / 2 and s.growsMs then set('growsMs', '') end
if number('bornMs') <= 0 then setMs('bornMs', now) end
-- While none could call, no lease ran out.
local usualMs = number('count') >= 24 and leaseMs / 2 or 1.75 * leaseMs
if s.calledMs and now - number('calledMs') > usualMs then setMs('returnedMs', now) end
-- Since then, processes have called without a break.
if now - number('calledMs') > leaseMs / 16 then setMs('steadyMs', now) end
setMs('calledMs', now)

local self = record and member(record)
local claimed = nil
if not self then
  claimed = arcsIn(claims)
  self = { joinedMs = now, arcs = '', lent = '' }
  if #claimed > 0 and knownBornMs == number('bornMs') then
    -- It called so late that it was taken for gone. So the slots of the dead need no search.
    set('lostMs', '')
  elseif #claimed > 0 and now - number('bornMs') < returnMs then
    -- It got its arcs before Redis came back empty.
    setMs('returnedMs', number('bornMs'))
    self.joinedMs = now - leaseMs
  end
end
self.joinedMs = math.min(self.joinedMs, now)
self.need, self.want = need, want
local isReturning = s.returnedMs and now - number('returnedMs') < returnMs
local isBack = record and self.untilMs < now or claimed and #claimed > 0
-- After Redis came back empty, the processes still know how many places there were.
local knownTurns = math.max(number('turns'), isReturning and math.min(turnsBefore, 100000) or 1)
while turns < knownTurns do turns = 2 * turns end
if limit > 0 then
  local areMany = present > (turns > 1 and 0.7 or 1) * turnsFrom * limit
  while (areMany or turns > 1) and present > maxPerPlace * turns do turns = 2 * turns end
  -- Before all have called again, they cannot be counted.
  if not isReturning then
    if not areMany then turns = 1 end
    while present < minPerPlace * turns do turns = turns / 2 end
  end
end
if turns > 1 then place, stride = whole / turns, ${strideInTurns} end
local isTooLong = not place and s.growsMs and now - number('growsMs') >= growthMs
local expected = joins > growsFrom and not isTooLong and joins or 0
set('turns', turns)

-- While Redis was away, the process may have used free arcs.
if isReturning and record and (place and isBack or self.lent ~= '') then claimed = arcsIn(claims) end
if isReturning and isBack then setMs('heardMs', now) end
if record and now - self.joinedMs >= leaseMs then setMs('settledMs', now) end
local arcs, lent = arcsIn(self.arcs), arcsIn(self.lent)
if place then arcs = placesIn(arcs, place) end
-- The processes to remove. After all else is written: a Redis without memory refuses to write, but not to remove.
local gone = {}
-- free: the arcs that no process holds. While Redis is away, no process can ask for them. So each process is lent some of them in
-- advance, and uses these then. unlent: the arcs that were lent to no process.
local free, unlent

if not s.surveyedMs or (claimed and #claimed > 0)
  or now - number('surveyedMs') >= math.max(expected > 0 and 0 or leaseMs / 10, math.min(number('count'), leaseMs)) then
  -- Counted as late are the processes that have become late since the last survey. Settled are those that have been there for a
  -- whole lease; overdue those of them that should have called by now.
  local others, late, all = {}, 0, redis.call('HGETALL', members)
  local settled, overdue = 0, 0
  for i = 1, #all, 2 do
    if all[i] ~= id then
      local other = member(all[i + 1])
      other.id = all[i]
      others[#others + 1] = other
      other.isLate = other.untilMs < now or other.untilMs > now + 2 * leaseMs
      other.isSettled = now - other.joinedMs >= leaseMs
      if other.untilMs < now and other.untilMs >= number('surveyedMs') then late = late + 1 end
      if other.isSettled then
        settled = settled + 1
        if other.untilMs < now + leaseMs / 5 then overdue = overdue + 1 end
      end
    end
  end
  -- Eight calls of settled processes were to be expected, and none came, while others called without a break: the settled ones
  -- were all killed, and the others have replaced them.
  local quietMs = now - math.max(number('settledMs'), number('steadyMs'))
  if overdue >= 3 and not isReturning and quietMs >= math.max(leaseMs / 4, 8 * leaseMs / settled) then
    for _, other in ipairs(others) do other.isLate = other.isLate or other.isSettled end
    late = 0
  end
  -- Processes that have lost touch with Redis call again at random times within maxRetryMs. If none has called for so long that
  -- this has a chance of one in a thousand, they are gone: all were killed, or have left, and others have started.
  local lost = 0
  for _, other in ipairs(others) do if other.isLate then lost = lost + 1 end end
  local silentMs = lost == 0 and 0 or maxRetryMs * (1 - 0.001 ^ (1 / lost))
  local isHeard = number('heardMs') >= number('returnedMs')
  if isReturning and not isHeard and now - number('returnedMs') >= silentMs then
    set('returnedMs', '')
    isReturning = false
  end
  -- A process that is alone need not wait for others to call again.
  if #others == 0 and now - number('bornMs') >= returnMs then isReturning = false end
  -- Most processes do not die within one second: Redis was away.
  if late >= 2 and late * 2 > #others and not isReturning then
    setMs('returnedMs', now)
    isReturning = true
  end
  local demands, taken, allLent = { self }, {}, arcsIn(self.lent)
  for _, other in ipairs(others) do
    if other.isLate and not isReturning then
      gone[#gone + 1] = other.id
      if s.reader == other.id then set('reader', '') end
      setMs('lostMs', now)
    else
      demands[#demands + 1] = other
      for _, arc in ipairs(arcsIn(other.arcs)) do taken[#taken + 1] = arc end
      for _, arc in ipairs(arcsIn(other.lent)) do allLent[#allLent + 1] = arc end
    end
  end
  if claimed then arcs = common(claimed, complement(taken)) end
  for _, arc in ipairs(arcs) do taken[#taken + 1] = arc end
  free, unlent = complement(taken), complement(allLent)
  local mode, level, reserve, pool = levelFor(demands, expected, not isTooLong)
  local lacking, step = 0, stepOf(#demands)
  for i, one in ipairs(demands) do
    local sure = sureOf(whole * partOf(mode, level, demandOf(one, #demands)), step)
    local has = lengthOf(arcsIn(one.arcs))
    if i > 1 and has < 0.75 * sure then lacking = lacking + sure - has end
  end
  set('mode', mode)
  set('level', level)
  set('reserve', reserve)
  set('pool', pool)
  set('count', #demands)
  setMs('lacking', lacking)
  setMs('surveyedMs', now)
else
  free, unlent = arcsIn(s.free or '', maxFree), arcsIn(s.unlent or '')
  if not record then set('count', number('count') + 1) end
end

local usable = { unpack(unlent) }
for _, arc in ipairs(lent) do usable[#usable + 1] = arc end
local count = math.max(number('count'), 1)
local step = stepOf(count)
local due = partOf(s.mode, number('level'), demandOf(self, count)) * whole
local sure = sureOf(due, step)
-- Half of an equal part is enough while a fleet grows: the first request of each comes before the second one of others.
if expected > 0 and not place then sure = math.min(sure, 8 * step) end
-- The free arcs that are left when processes with far too little have taken their part; negative if there are too few.
local spare = lengthOf(free) - number('lacking')
if not place and s.mode ~= 'spare' then spare = spare - 0.8 * number('reserve') * whole end
local length = place and sure or math.min(math.max(math.floor(due / step + fractionOf(id)) * step, sure), whole)
local held = lengthOf(arcs)
if not place and #arcs > 1 and not isReturning then arcs, free = rearranged(inFewerPieces, arcs, free, usable) end
-- A process that has made no request yet may change its arcs for ones with a slot that comes sooner. One that has made its
-- first request may not: it would take the slots that others wait for.
if not place and held > 0 and isUrgent and not isReturning and not hasSlotSoon(arcs) then
  for _, arc in ipairs(arcs) do free[#free + 1] = arc end
  free = joined(free)
  arcs, held = {}, 0
end
-- A process whose part is nearly right keeps its arcs as they are, in few pieces, unless another process lacks its own.
local _, nextPoint = nextSlot(arcs)
if place then nextPoint = nil end -- a place is given back whole
-- While others are away, a process keeps the free places that it used when Redis was.
local keepsAll = isReturning
if not keepsAll and held > sure and spare < 0 then
  arcs = shortened(arcs, math.max(sure, held + math.floor(spare / step) * step), nextPoint)
elseif not keepsAll and held > length + (place and 0 or 2 * step) then arcs = shortened(arcs, length, nextPoint)
elseif held < length and (place or held < due - step / 2) and not isReturning then
  local withheld = {}
  if place then free, withheld = withoutReserved(placesIn(free, place)) end
  local most = lengthOf(free)
  if held >= 0.75 * sure then most = math.max(math.min(most, spare), 0)
  elseif not place then
    -- Others lack arcs as well, so that each takes its part of the free ones only.
    local lack = sure - held
    most = math.max(math.min(most, step), math.min(most, most * lack / (lack + number('lacking'))))
  end
  -- The first processes of a fleet leave most of it to the processes that start at the same time.
  if now - number('bornMs') < leaseMs / 4 then most = math.max(most / 128, math.min(most, step)) end
  local more = math.floor(math.min(length - held, most) / (place or 1)) * (place or 1)
  if held == 0 and more > 0 and limit > 0 and not place then
    arcs[1] = soonest(free, more, math.max(number('reservedMs') + 1, now + 5))
    if arcs[1] then more = more - (arcs[1][2] - arcs[1][1]) end
  end
  arcs, free = extended(arcs, more, free)
  for _, arc in ipairs(withheld) do free[#free + 1] = arc end
  free = joined(free)
end
if not place and not isReturning then arcs, free = rearranged(movedDown, arcs, free, usable) end
set('free', textOf(free, maxFree))
-- Slots of free arcs are promised up to this time. The process may use its new arcs from then on, and its old ones until then.
local sinceMs = place and now or math.max(math.min(number('reservedMs'), now + leaseMs / 10), now)

local ownMs = nextSlot(arcs)

-- The time of the next slot of the free arcs that no process was given.
local function reservedSlot(withinMs, beforeMs)
  local fromMs = math.max(number('reservedMs') + 1, now + 5)
  local untilMs = math.min(now + withinMs, beforeMs)
  local slot = #reserved < maxArcs and nextSlots(fromMs, untilMs, function(point, atMs)
    return holds(free, point) and { math.floor(atMs), point }
  end)
  if not slot then return nil end
  setMs('reservedMs', slot[1] + 1)
  if place then
    reserved[#reserved + 1] = slot
    local texts = {}
    for i, one in ipairs(reserved) do texts[i] = string.format('%.0f-%.0f', one[1], one[2]) end
    set('reserved', table.concat(texts, ' '))
  end
  return slot[1]
end

-- The time of a request besides the slots: the limit is not used whole, so there is room for a few; for two at once. While
-- many processes start, only a process that has found no slot for some time gets one. The last one is kept for processes that
-- wait for their first request, or that send rarely.
local function besides(beforeMs)
  local waitsLong = isUrgent and now - self.joinedMs >= soonMs
  if expected > 0 and not isRare(self) and not waitsLong then return nil end
  local apartMs = 1000 / (guestPart * limit)
  local dueMs = math.max(number('guestMs') + apartMs, now - apartMs)
  if not isUrgent and not isRare(self) and dueMs > now - apartMs then return nil end
  if dueMs >= math.min(now + (isRare(self) and soonMs or 2 * leaseMs), beforeMs) then return nil end
  setMs('guestMs', dueMs)
  return math.floor(math.max(dueMs, now))
end

-- Of several processes that have just started, each may still have a slot soon.
local isSettled = place or isRare(self) or now - self.joinedMs >= 0.1 * leaseMs or number('guestMs') < now - leaseMs / 2
local hasToWait = wantsGuest == '1' and isSettled and ownMs > now + (place and expected > 0 and leaseMs or soonMs)
-- Where each has its turn, slots of free places are given in good time to processes that wait for their first request, or have
-- missed their turn; no earlier, as no process can take the place until then. To others they are given shortly before, but so
-- early that enough processes call meanwhile.
local turnWithinMs = isUrgent and leaseMs / 2 or math.min(math.max(0.16, 5 / count), 1) * leaseMs
local guestMs = nil
if limit > 0 and hasToWait then
  -- After Redis was away, it is not known yet which arcs are free, but processes that send rarely still have their room.
  if isReturning then guestMs = isRare(self) and now or nil
  elseif place then guestMs = reservedSlot(turnWithinMs, ownMs)
  elseif isRare(self) or s.mode == 'spare' then guestMs = reservedSlot(soonMs, ownMs) end
  if not guestMs and not place then guestMs = besides(ownMs) end
end
-- A slot of the pool. It is promised shortly before its time, but so early that two or three processes call in between. While a
-- fleet grows, processes that have just started get none.
local mayHaveMore = wantsMore and number('pool') > 0 and not place and not isReturning
if mayHaveMore and not guestMs and (expected == 0 or now - self.joinedMs >= 2 * leaseMs) then
  guestMs = reservedSlot(2.5 / count * leaseMs, math.huge)
end

if header ~= '' then
  -- A higher limit counts once no answer has named the lower one for some time, because answers may contradict each other.
  -- After that, a process with few requests may still report what an answer named before.
  local namedMs = now - headerAgeMs
  local isLower = not s.header or tonumber(header) <= number('header')
  local lowerMs = number('headerMs')
  local isStale = namedMs < number('raisedMs')
  if isLower and not isStale then
    set('header', header)
    setMs('headerMs', math.max(namedMs, lowerMs))
  elseif not isLower and namedMs - lowerMs > leaseMs then
    set('header', header)
    setMs('headerMs', namedMs)
    setMs('raisedMs', namedMs)
  end
elseif s.header and now - number('headerMs') > math.max(4 * leaseMs, 2000 / number('header')) then -- or two requests
  set('header', '')
end

if license ~= '' then
  set('license', license)
  setMs('licenseAt', now)
  if s.reader == id then set('reader', '') end
end
local mayRead = 0
if reads == '1' then
  local isFree = not s.reader or s.reader == '' or number('readerMs') < now
  if s.reader == id or isFree then
    mayRead = 1
    set('reader', id)
    setMs('readerMs', now + 3 * leaseMs)
  end
elseif s.reader == id then
  -- It could not read it. Soon another process may try, and not only this one again.
  set('reader', 'none')
  setMs('readerMs', now + 0.2 * leaseMs)
end
local sent = ''
if s.licenseAt and s.licenseAt ~= knownAt then sent = s.license or redis.call('HGET', state, 'license') or '' end

local renewMs = isRare(self) and s.mode ~= 'spare' and 1.25 * leaseMs or leaseMs
if now - self.joinedMs < 0.3 * leaseMs then renewMs = leaseMs / 10
elseif now - self.joinedMs < 0.8 * leaseMs then renewMs = leaseMs / 5
elseif hasToWait and not guestMs and isRare(self) then renewMs = leaseMs / 5
elseif s.lostMs and now - number('lostMs') < 6 * leaseMs then renewMs = 0.4 * leaseMs end
-- No two processes are lent the same arc.
if place then lent = following(arcs, joined(free))
elseif isReturning then lent = {}
else
  lent, unlent = common(lent, free), common(unlent, free)
  local pool = number('pool')
  local more = math.floor(lengthOf(arcs) * pool / (1 - pool) - lengthOf(lent))
  if more < 0 then lent = shortened(lent, lengthOf(lent) + more)
  else lent, unlent = extended(lent, more, unlent) end
  set('unlent', textOf(unlent))
end
-- The next call comes after 1.2 times that delay at most. Its event loop may be blocked meanwhile, also soon after its start, and
-- for longer while many processes start on one machine.
local blockedMs = (expected > 0 and 0.3 or 0.13) * leaseMs
local untilMs = now + 1.2 * renewMs + math.max(0.2 * renewMs + leaseMs / 25, blockedMs)
redis.call('HSET', members, id, string.format('%.0f %.0f %.9g %.9g %s|%s', untilMs, self.joinedMs, need, want, textOf(arcs), place and '' or textOf(lent)))
redis.call('HSET', state, unpack(changed))
for _, other in ipairs(gone) do redis.call('HDEL', members, other) end
redis.call('PEXPIRE', members, 3 * leaseMs)
redis.call('PEXPIRE', state, 3 * leaseMs)
return {
  now, math.floor(renewMs), stride, guestMs or 0, s.header or '', s.licenseAt or '0', sent, mayRead, textOf(arcs), textOf(lent), turns,
  math.floor(sinceMs), number('bornMs'),
}
`
