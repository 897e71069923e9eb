-- The boots of a release in which named items took longest: where to look for the reason.
--
-- :release  the release
-- :suspects  items, each 'kind|name'
-- :each  how many boots of each item
with sums as (
  select boot_id, product, board, kind, name, cast(sum(dur_ns) as bigint) as dur_ns
  from items
  where release = :release and concat(kind, '|', name) in (:suspects)
  group by boot_id, product, board, kind, name
),
ranked as (
  select s.*, row_number() over (partition by product, kind, name
    order by dur_ns desc, boot_id) as place
  from sums s
)
select product, kind, name, boot_id, board, dur_ns
from ranked where place <= :each
order by product, kind, name, place
