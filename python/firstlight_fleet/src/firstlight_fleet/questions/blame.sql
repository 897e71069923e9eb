-- Which items made a release slower than another one, the largest regression first.
-- A median is that of the boots that have the item, board by board, weighted by the boots of
-- the release. delta_ns is the change of median times share of boots: what the item adds to a
-- boot of the average board. A boot without the item counts as zero in the test. Boots that
-- did not record the kind (no initcall_debug, no systemd) do not count.
--
-- :base  release to compare with
-- :release  release to judge
-- :board  only this board, or 'all'
-- :top  how many items
with totals as (
  select product, clock, concat(board, '/', boot_kind) as stratum, substr(metric, 6) as kind,
    case when release = :release then 1 else 0 end as side, cast(sum(n) as bigint) as total
  from boots_hist
  where metric like 'with:%' and release in (:base, :release)
    and (board = :board or :board = 'all') and boot_kind in ('cold', 'warm', 'unknown')
  group by product, clock, board, boot_kind, metric, release
),
seen as (
  select product, clock, concat(board, '/', boot_kind) as stratum, kind, name,
    case when release = :release then 1 else 0 end as side, bucket,
    cast(sum(n) as bigint) as n
  from items_hist
  where release in (:base, :release) and (board = :board or :board = 'all')
    and boot_kind in ('cold', 'warm', 'unknown')
  group by product, clock, board, boot_kind, kind, name, release, bucket
),
names as (
  select distinct product, clock, kind, name from seen
),
sums as (
  select product, clock, stratum, kind, name, side, sum(n) as n
  from seen group by product, clock, stratum, kind, name, side
),
-- Boots that recorded this kind but do not have the item.
absent as (
  select t.product, t.clock, t.stratum, t.kind, m.name, t.side, t.total - coalesce(s.n, 0) as n
  from totals t
  join names m on m.product = t.product and m.clock = t.clock and m.kind = t.kind
  left join sums s on s.product = t.product and s.clock = t.clock and s.stratum = t.stratum
    and s.kind = t.kind and s.name = m.name and s.side = t.side
),
cells as (
  select product, clock, kind, name, stratum, side, bucket, n from seen
  union all
  select product, clock, kind, name, stratum, side, -1 as bucket, n from absent where n > 0
),
wide as (
  select product, clock, kind, name, stratum, bucket,
    cast(sum(case when side = 0 then n else 0 end) as double) as nb,
    cast(sum(case when side = 1 then n else 0 end) as double) as nr
  from cells group by product, clock, kind, name, stratum, bucket
),
running as (
  select w.*,
    sum(nb) over (partition by product, clock, kind, name, stratum order by bucket
      rows between unbounded preceding and current row) as cb,
    sum(nr) over (partition by product, clock, kind, name, stratum order by bucket
      rows between unbounded preceding and current row) as cr,
    sum(nb) over (partition by product, clock, kind, name, stratum) as tb,
    sum(nr) over (partition by product, clock, kind, name, stratum) as tr,
    sum(case when bucket < 0 then nb else 0e0 end)
      over (partition by product, clock, kind, name, stratum) as ab,
    sum(case when bucket < 0 then nr else 0e0 end)
      over (partition by product, clock, kind, name, stratum) as ar
  from wide w
),
-- Ranks within each stratum (board, kind of boot, zero mark), so that a change of the mix
-- of boards is no change of a time.
ranked as (
  select product, clock, kind, name, stratum, max(tb) as tb, max(tr) as tr,
    sum(nr * (cb - nb / 2e0)) - max(tb) * max(tr) / 2e0 as u,
    max(tb) * max(tr) / 12e0 * (max(tb + tr) + 1e0
      - sum((nb + nr) * (nb + nr) * (nb + nr) - (nb + nr))
        / (max(tb + tr) * (max(tb + tr) - 1e0))) as v,
    max(case when bucket >= 0 and cb - ab >= 0.5e0 * (tb - ab)
    and cb - ab - nb < 0.5e0 * (tb - ab)
      then exp((bucket + (0.5e0 * (tb - ab) - (cb - ab - nb)) / nb) * 0.0198026272961797e0) end) as mb,
    max(case when bucket >= 0 and cr - ar >= 0.5e0 * (tr - ar)
    and cr - ar - nr < 0.5e0 * (tr - ar)
      then exp((bucket + (0.5e0 * (tr - ar) - (cr - ar - nr)) / nr) * 0.0198026272961797e0) end) as mr,
    max(ab) as ab, max(ar) as ar
  from running where tb > 0e0 and tr > 0e0
  group by product, clock, kind, name, stratum
),
scored as (
  select product, clock, kind, name, cast(sum(tb) as bigint) as base_boots,
    cast(sum(tr) as bigint) as release_boots,
    case when sum(v / ((tb + tr + 1e0) * (tb + tr + 1e0))) > 0e0
      then sum(u / (tb + tr + 1e0))
        / sqrt(sum(v / ((tb + tr + 1e0) * (tb + tr + 1e0)))) end as z,
    sum(tb - ab) as seen_b, sum(tr - ar) as seen_r,
    case when sum(case when mb is not null then tr else 0e0 end) > 0e0
      then sum(mb * tr) / sum(case when mb is not null then tr else 0e0 end) end as mb,
    case when sum(case when mr is not null then tr else 0e0 end) > 0e0
      then sum(mr * tr) / sum(case when mr is not null then tr else 0e0 end) end as mr,
    sum((coalesce(mr, 0e0) * (tr - ar) / tr - coalesce(mb, 0e0) * (tb - ab) / tb) * tr)
      / sum(tr) as delta
  from ranked group by product, clock, kind, name
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
  select c.*, least(1e0, p * count(*) over (partition by product, clock)) as chance_raw
  from chances c
)
select product, clock, kind, name, cast(round(mb) as bigint) as base_median_ns,
  cast(round(mr) as bigint) as release_median_ns,
  round(seen_b / base_boots, 4) as base_share, round(seen_r / release_boots,
    4) as release_share,
  base_boots, release_boots, cast(round(delta) as bigint) as delta_ns,
  round(chance_raw, 9) as chance,
  case when chance_raw >= 0.005e0 or delta = 0 then 'same'
    when base_boots < 20 or release_boots < 20 then 'too few boots'
    when abs(delta) < 0.005e0 * greatest(coalesce(mb, 0e0), coalesce(mr, 0e0)) then 'same'
    when delta > 0 then 'slower' else 'faster' end as verdict
from judged
order by case when chance_raw < 0.005e0 then 0 else 1 end, delta desc, kind, name
limit :top
