-- Percentiles of first light and of each phase, release by release, and whether a release is
-- slower than the one before it. Recovery, factory and update boots are left out.
-- All from histograms: percentiles are within 2 % of the exact ones.
with ordered as (
  select product, release, release_key,
    row_number() over (partition by product order by release_key, release) as ordinal
  from (select distinct product, release, release_key from boots_hist) r
),
h as (
  select h.product, h.clock, h.zero, h.metric, h.release, o.ordinal,
    concat(h.board, '/', h.boot_kind) as stratum, bucket, sum(n) as n
  from boots_hist h join ordered o on o.product = h.product and o.release = h.release
  where h.boot_kind in ('cold', 'warm', 'unknown') and h.metric not in ('boots')
    and h.metric not like 'with:%'
  group by h.product, h.clock, h.zero, h.metric, h.release, h.board, h.boot_kind, o.ordinal,
    bucket
),
merged as (
  select product, clock, zero, metric, release, ordinal, bucket, cast(sum(n) as double) as n
  from h group by product, clock, zero, metric, release, ordinal, bucket
),
counted as (
  select m.*,
    sum(n) over (partition by product, clock, zero, metric, release order by bucket
      rows between unbounded preceding and current row) as upto,
    sum(n) over (partition by product, clock, zero, metric, release) as boots
  from merged m
),
times as (
  select product, clock, zero, metric, release, ordinal, max(boots) as boots,
    max(case when upto >= 0.50e0 * boots and upto - n < 0.50e0 * boots
      then exp((bucket + (0.50e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p50,
    max(case when upto >= 0.95e0 * boots and upto - n < 0.95e0 * boots
      then exp((bucket + (0.95e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p95,
    max(case when upto >= 0.99e0 * boots and upto - n < 0.99e0 * boots
      then exp((bucket + (0.99e0 * boots - (upto - n)) / n) * 0.0198026272961797e0) end) as p99
  from counted group by product, clock, zero, metric, release, ordinal
),
-- Each release against the one before it, that has this time.
neighbors as (
  select product, clock, zero, metric, release, ordinal,
    lag(ordinal) over (partition by product, clock, zero, metric order by ordinal) as before
  from (select distinct product, clock, zero, metric, release, ordinal from h) d
),
cells as (
  select h.product, h.clock, h.zero, h.metric, p.ordinal, 1 as side, stratum, bucket, n
  from h join neighbors p on h.product = p.product and h.clock = p.clock
    and h.zero = p.zero and h.metric = p.metric
    and h.ordinal = p.ordinal
  union all
  select h.product, h.clock, h.zero, h.metric, p.ordinal, 0 as side, stratum, bucket, n
  from h join neighbors p on h.product = p.product and h.clock = p.clock
    and h.zero = p.zero and h.metric = p.metric
    and h.ordinal = p.before
),
wide as (
  select product, clock, zero, metric, ordinal, stratum, bucket,
    cast(sum(case when side = 0 then n else 0 end) as double) as nb,
    cast(sum(case when side = 1 then n else 0 end) as double) as nr
  from cells group by product, clock, zero, metric, ordinal, stratum, bucket
),
running as (
  select w.*,
    sum(nb) over (partition by product, clock, zero, metric, ordinal, stratum order by bucket
      rows between unbounded preceding and current row) as cb,
    sum(nr) over (partition by product, clock, zero, metric, ordinal, stratum order by bucket
      rows between unbounded preceding and current row) as cr,
    sum(nb) over (partition by product, clock, zero, metric, ordinal, stratum) as tb,
    sum(nr) over (partition by product, clock, zero, metric, ordinal, stratum) as tr
  from wide w
),
-- Ranks within each stratum (board, kind of boot, zero mark), so that a change of the mix
-- of boards is no change of a time.
ranked as (
  select product, clock, zero, metric, ordinal, stratum, max(tb) as tb, max(tr) as tr,
    sum(nr * (cb - nb / 2e0)) - max(tb) * max(tr) / 2e0 as u,
    max(tb) * max(tr) / 12e0 * (max(tb + tr) + 1e0
      - sum((nb + nr) * (nb + nr) * (nb + nr) - (nb + nr))
        / (max(tb + tr) * (max(tb + tr) - 1e0))) as v,
    max(case when cb >= 0.5e0 * tb and cb - nb < 0.5e0 * tb
      then exp((bucket + (0.5e0 * tb - (cb - nb)) / nb) * 0.0198026272961797e0) end) as mb,
    max(case when cr >= 0.5e0 * tr and cr - nr < 0.5e0 * tr
      then exp((bucket + (0.5e0 * tr - (cr - nr)) / nr) * 0.0198026272961797e0) end) as mr
  from running where tb > 0e0 and tr > 0e0
  group by product, clock, zero, metric, ordinal, stratum
),
scored as (
  select product, clock, zero, metric, ordinal, cast(sum(tb) as bigint) as base_boots,
    cast(sum(tr) as bigint) as release_boots,
    case when sum(v / ((tb + tr + 1e0) * (tb + tr + 1e0))) > 0e0
      then sum(u / (tb + tr + 1e0))
        / sqrt(sum(v / ((tb + tr + 1e0) * (tb + tr + 1e0)))) end as z,
    cast(round(sum(mb * tr) / sum(tr)) as bigint) as base_ns,
    cast(round(sum(mr * tr) / sum(tr)) as bigint) as release_ns
  from ranked group by product, clock, zero, metric, ordinal
),
chances as (
  -- The probability of so large a z by chance: Abramowitz and Stegun 7.1.26, and for
  -- large z the asymptotic series, whose relative error is small there.
  select s.*,
    case when z is null then 1e0
      when abs(z) > 4e0 then 0.7978845608028654e0 * exp(-z * z / 2e0) / abs(z)
        * (1e0 - 1e0 / (z * z) + 3e0 / (z * z * z * z))
      else t * (0.254829592e0 + t * (-0.284496736e0 + t * (1.421413741e0
        + t * (-1.453152027e0 + t * 1.061405429e0)))) * exp(-z * z / 2e0) end as p
  from (select f.*, 1e0 / (1e0 + 0.3275911e0 * abs(z) / 1.4142135623730951e0) as t
    from scored f) s
),
judged as (
  select c.*, least(1e0, p * count(*) over (partition by product)) as chance_raw,
    release_ns - base_ns as delta_ns
  from chances c
)
select t.product, t.clock, t.zero, t.metric, t.release, cast(t.boots as bigint) as boots,
  cast(round(p50) as bigint) as p50_ns, cast(round(p95) as bigint) as p95_ns,
  cast(round(p99) as bigint) as p99_ns, o.release as previous, j.delta_ns,
  round(j.chance_raw, 9) as chance,
  case when p.before is null then 'first'
    when j.chance_raw is null then 'no boots in common'
    when j.chance_raw >= 0.005e0 or j.delta_ns = 0 then 'same'
    when j.base_boots < 20 or j.release_boots < 20 then 'too few boots'
    when abs(j.delta_ns) < 0.005e0 * greatest(j.base_ns, j.release_ns) then 'same'
    when j.delta_ns > 0 then 'slower' else 'faster' end as verdict
from times t
left join neighbors p on p.product = t.product and p.clock = t.clock and p.zero = t.zero
  and p.metric = t.metric and p.ordinal = t.ordinal
left join ordered o on o.product = t.product and o.ordinal = p.before
left join judged j on j.product = t.product and j.clock = t.clock and j.zero = t.zero
  and j.metric = t.metric and j.ordinal = t.ordinal
order by t.product, t.clock, t.zero, t.metric, t.ordinal
