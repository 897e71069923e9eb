"""Opening a store: a Delta table in a folder or in an object store."""

import os
from pathlib import Path

from deltalake import ColumnProperties, DeltaTable, WriterProperties
from deltalake.exceptions import DeltaError, TableNotFoundError

from firstlight_fleet import durable, schema
from firstlight_fleet.errors import FleetError, first_line


def is_remote(where: str) -> bool:
    """Whether a place is in an object store, and not in the file system of this machine."""
    return "://" in where


class Store:
    """A store that exists, at its newest version."""

    def __init__(self, table: DeltaTable, where: str, options: dict[str, str]):
        self.table = table
        self.where = where
        self.options = options

    @property
    def is_local(self) -> bool:
        """Whether its files are in the file system of this machine."""
        return not is_remote(self.where)

    def files(self, part: str) -> list[str]:
        """The paths of the files of a part of the table."""
        return self.table.file_uris(file_pruning_predicate=f"part = '{part}'")

    def upgrade(self) -> None:
        """Marks a store of an older version as one of this version, which older programs then
        refuse: they would not see what is written from now on."""
        if self.table.metadata().name != f"{schema.NAME}/{schema.VERSION}":
            self.table.alter.set_table_name(f"{schema.NAME}/{schema.VERSION}")
            self.refresh()

    def refresh(self) -> None:
        """Moves on to the newest version."""
        self.table.update_incremental()

    def settle(self) -> None:
        """Waits until what was committed is on the disk, where it stays if power goes, and moves
        on to it."""
        if self.is_local:
            durable.settle(Path(self.where))
        self.refresh()


#: How files are written. Times of items are in the order of names, so that their differences
#: are small; a dictionary of them would be as large as they are.
WRITER = WriterProperties(
    compression="ZSTD",
    compression_level=9,
    column_properties={
        name: ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
        for name in ["start_n", "dur_n"]
    },
)


def storage_options(where: str, given: list[str]) -> dict[str, str]:
    """The options of an object store: ``KEY=VALUE`` each, beside those of the environment."""
    options = {}
    for option in given:
        key, equals, value = option.partition("=")
        if not equals:
            raise FleetError(f"--storage-option {option}: no `=`; write KEY=VALUE")
        options[key] = value
    locking = {"AWS_S3_LOCKING_PROVIDER", "AWS_CONDITIONAL_PUT", "aws_conditional_put"}
    if where.startswith(("s3://", "s3a://")) and not locking & (set(options) | set(os.environ)):
        # Without it two writers at once could overwrite each other's commit.
        options["AWS_CONDITIONAL_PUT"] = "etag"
    return options


def open_store(where: str, given: list[str] | None = None) -> Store:
    """Opens a store.

    Raises FleetError if there is none, if it is somebody else's table, or if a newer
    version wrote it.
    """
    options = storage_options(where, given or [])
    try:
        _recover(where)
        table = DeltaTable(where, storage_options=options)
    except TableNotFoundError as error:
        raise FleetError(
            f"{where}: there is no store; `firstlight fleet ingest {where} INPUT...` makes one"
        ) from error
    except (DeltaError, OSError) as error:
        raise FleetError(f"{where}: the store cannot be opened: {first_line(error)}") from error
    _check(table, where)
    return Store(table, where, options)


def open_or_create(where: str, given: list[str] | None = None) -> Store:
    """Opens a store, or makes an empty one."""
    options = storage_options(where, given or [])
    try:
        _recover(where)
        if not DeltaTable.is_deltatable(where, storage_options=options):
            _create(where, options)
    except (DeltaError, OSError) as error:
        raise FleetError(f"{where}: the store cannot be made: {first_line(error)}") from error
    return open_store(where, given)


def _recover(where: str) -> None:
    if not is_remote(where):
        durable.recover(Path(where))


def _create(where: str, options: dict[str, str]) -> None:
    folder = Path(where)
    has_files = not is_remote(where) and folder.is_dir() and any(folder.iterdir())
    if has_files and not durable.is_left_over(folder):
        raise FleetError(
            f"{where}: the folder has files but no store in it; name a new or empty folder"
        )
    try:
        DeltaTable.create(
            where,
            schema.SCHEMA,
            mode="error",
            partition_by=schema.PARTITIONS,
            name=f"{schema.NAME}/{schema.VERSION}",
            description="Boot times of a fleet; https://github.com/firstlight-boot/firstlight",
            storage_options=options,
        )
    except (DeltaError, OSError):
        # Another writer may have made it in the same moment.
        if not DeltaTable.is_deltatable(where, storage_options=options):
            raise
    if not is_remote(where):
        durable.settle(folder)


def _check(table: DeltaTable, where: str) -> None:
    kind, _, version = (table.metadata().name or "").partition("/")
    if kind != schema.NAME or not version.isdigit():
        raise FleetError(
            f"{where}: this Delta table is not a store of firstlight-fleet; name another folder"
        )
    if int(version) > schema.VERSION:
        raise FleetError(
            f"{where}: the store has version {version}, but this program reads up to "
            f"{schema.VERSION}; install a newer firstlight-fleet"
        )
