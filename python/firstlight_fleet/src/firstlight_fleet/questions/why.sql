-- What is odd in boots: the items that took much longer than in their peers, which have the
-- same product, release, board, clock and kind of boot. An item that few peers have is odd too.
--
-- :boots  boot ids
-- :each  how many items of each boot
with mine as (
  select boot_id, product, release, board, clock, boot_kind, kind, name,
    cast(sum(dur_ns) as bigint) as dur_ns
  from items where boot_id in (:boots)
  group by boot_id, product, release, board, clock, boot_kind, kind, name
),
wanted as (
  select distinct product, release, board, clock, boot_kind, kind, name from mine
),
merged as (
  select h.product, h.release, h.board, h.clock, h.boot_kind, h.kind, h.name, bucket,
    cast(sum(n) as double) as n
  from items_hist h
  join wanted w on w.product = h.product and w.release = h.release and w.board = h.board
    and w.clock = h.clock and w.boot_kind = h.boot_kind
    and w.kind = h.kind and w.name = h.name
  group by h.product, h.release, h.board, h.clock, h.boot_kind, h.kind, h.name, bucket
),
counted as (
  select m.*,
    sum(n) over (partition by product, release, board, clock, boot_kind, kind,
    name order by bucket
      rows between unbounded preceding and current row) as upto,
    sum(n) over (partition by product, release, board, clock, boot_kind, kind, name) as boots
  from merged m
),
peers as (
  select product, release, board, clock, boot_kind, kind, name, max(boots) as boots,
    max(case when upto >= 0.50e0 * boots and upto - n < 0.50e0 * boots
      then exp((bucket + (0.50e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p50,
    max(case when upto >= 0.99e0 * boots and upto - n < 0.99e0 * boots
      then exp((bucket + (0.99e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p99
  from counted group by product, release, board, clock, boot_kind, kind, name
),
totals as (
  select product, release, board, clock, boot_kind, substr(metric, 6) as kind,
    cast(sum(n) as double) as total
  from boots_hist where metric like 'with:%'
  group by product, release, board, clock, boot_kind, metric
),
ranked as (
  select m.boot_id, m.kind, m.name, m.dur_ns,
    case when p.boots >= 0.5e0 * t.total then cast(round(p50) as bigint) else 0 end
      as usual_ns,
    cast(round(p99) as bigint) as p99_ns,
    round(p.boots / t.total, 4) as peers_share
  from mine m
  join peers p on p.product = m.product and p.release = m.release and p.board = m.board
    and p.clock = m.clock and p.boot_kind = m.boot_kind
    and p.kind = m.kind and p.name = m.name
  join totals t on t.product = m.product and t.release = m.release and t.board = m.board
    and t.clock = m.clock and t.boot_kind = m.boot_kind and t.kind = m.kind
),
placed as (
  select r.*, dur_ns - usual_ns as excess_ns,
    row_number() over (partition by boot_id order by dur_ns - usual_ns desc, kind,
    name) as place
  from ranked r
)
select boot_id, kind, name, dur_ns, usual_ns, p99_ns, excess_ns, peers_share
from placed where place <= :each and excess_ns > 0
order by boot_id, place
