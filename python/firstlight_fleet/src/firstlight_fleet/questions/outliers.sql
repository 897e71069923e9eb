-- Boots whose first light is far later than that of their peers: beyond the third quartile
-- plus three times the range between the quartiles. Peers have the same product, release,
-- board, clock, zero mark and kind of boot; there must be at least 20.
--
-- :top  how many boots
with merged as (
  select product, release, board, clock, zero, boot_kind, bucket, cast(sum(n) as double) as n
  from boots_hist where metric = 'first_light'
  group by product, release, board, clock, zero, boot_kind, bucket
),
counted as (
  select m.*,
    sum(n) over (partition by product, release, board, clock, zero, boot_kind order by bucket
      rows between unbounded preceding and current row) as upto,
    sum(n) over (partition by product, release, board, clock, zero, boot_kind) as boots
  from merged m
),
peers as (
  select product, release, board, clock, zero, boot_kind, max(boots) as boots,
    max(case when upto >= 0.25e0 * boots and upto - n < 0.25e0 * boots
      then exp((bucket + (0.25e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as q1,
    max(case when upto >= 0.50e0 * boots and upto - n < 0.50e0 * boots
      then exp((bucket + (0.50e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as q2,
    max(case when upto >= 0.75e0 * boots and upto - n < 0.75e0 * boots
      then exp((bucket + (0.75e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as q3
  from counted group by product, release, board, clock, zero, boot_kind
),
-- Equal times have quartiles in one bucket; half of its width is the least range.
bounds as (
  select p.*, q3 + 3e0 * greatest(q3 - q1, 0.01e0 * q2) as bound
    from peers p where boots >= 20e0
)
select b.boot_id, b.product, b.release, b.board, b.boot_kind, b.day, b.first_light_ns,
  cast(round(q2) as bigint) as peers_median_ns,
  b.first_light_ns - cast(round(q2) as bigint) as excess_ns,
  cast(p.boots as bigint) as peers
from boots b
join bounds p on p.product = b.product and p.release = b.release and p.board = b.board
  and p.clock = b.clock and p.zero = b.zero and p.boot_kind = b.boot_kind
where b.first_light_ns > p.bound
order by excess_ns desc, b.boot_id
limit :top
