-- First light day by day, for each release: how many boots, and their percentiles.
-- Recovery, factory and update boots are left out.
with merged as (
  select product, clock, zero, release, day, bucket, cast(sum(n) as double) as n
  from boots_hist
  where metric = 'first_light' and boot_kind in ('cold', 'warm', 'unknown')
  group by product, clock, zero, release, day, bucket
),
counted as (
  select m.*,
    sum(n) over (partition by product, clock, zero, release, day order by bucket
      rows between unbounded preceding and current row) as upto,
    sum(n) over (partition by product, clock, zero, release, day) as boots
  from merged m
)
select product, clock, zero, release, day, cast(max(boots) as bigint) as boots,
  cast(round(max(case when upto >= 0.50e0 * boots and upto - n < 0.50e0 * boots
    then exp((bucket + (0.50e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end))
    as bigint) as p50_ns,
  cast(round(max(case when upto >= 0.95e0 * boots and upto - n < 0.95e0 * boots
    then exp((bucket + (0.95e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end))
    as bigint) as p95_ns
from counted
group by product, clock, zero, release, day
order by product, clock, zero, day, release
