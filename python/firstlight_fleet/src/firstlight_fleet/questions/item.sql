-- The history of items, release by release: how many boots have each, and how long it takes.
--
-- :name  canonical names of the items
with ordered as (
  select product, release, release_key,
    row_number() over (partition by product order by release_key, release) as ordinal
  from (select distinct product, release, release_key from boots_hist) r
),
totals as (
  select product, clock, release, substr(metric, 6) as kind, sum(n) as total
  from boots_hist where metric like 'with:%' and boot_kind in ('cold', 'warm', 'unknown')
  group by product, clock, release, metric
),
merged as (
  select product, clock, kind, name, release, bucket, cast(sum(n) as double) as n,
    sum(sum_ns) as sum_ns
  from items_hist where name in (:name) and boot_kind in ('cold', 'warm', 'unknown')
  group by product, clock, kind, name, release, bucket
),
counted as (
  select m.*,
    sum(n) over (partition by product, clock, kind, name, release order by bucket
      rows between unbounded preceding and current row) as upto,
    sum(n) over (partition by product, clock, kind, name, release) as boots
  from merged m
),
times as (
  select product, clock, kind, name, release, max(boots) as boots,
    cast(sum(sum_ns) as double) / max(boots) as mean,
    max(case when upto >= 0.50e0 * boots and upto - n < 0.50e0 * boots
      then exp((bucket + (0.50e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p50,
    max(case when upto >= 0.95e0 * boots and upto - n < 0.95e0 * boots
      then exp((bucket + (0.95e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p95,
    max(case when upto >= 0.99e0 * boots and upto - n < 0.99e0 * boots
      then exp((bucket + (0.99e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p99
  from counted group by product, clock, kind, name, release
)
select t.product, t.clock, t.kind, t.name, t.release, cast(t.boots as bigint) as boots,
  round(t.boots / n.total, 4) as share, cast(round(mean) as bigint) as mean_ns,
  cast(round(p50) as bigint) as p50_ns, cast(round(p95) as bigint) as p95_ns,
  cast(round(p99) as bigint) as p99_ns
from times t
join ordered o on o.product = t.product and o.release = t.release
join totals n on n.product = t.product and n.clock = t.clock and n.release = t.release
  and n.kind = t.kind
order by t.product, t.clock, t.kind, t.name, o.ordinal
