"""Tables of other libraries: polars, DuckDB, Arrow, and all that export an Arrow stream."""

# Functions see pandas only. `call_with_tables` reads the tables among the arguments, and returns the tables
# of a result in the library of the first one. Columns with an Arrow type are shared, not copied.

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import pandas as pd
import pyarrow as pa

from pdanon.errors import InfeasibleError, ParameterError
from pdanon.itemsets.dtype import ListArray, arrow_values, is_list_type, is_text_type
from pdanon.itemsets.frozen import frozen

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Class = TypeVar("_Class", bound=type[Any])

_TABLES = re.compile("DataFrame|Anonymized|HierarchyLike|^pd.Series")  # in annotations of parameters
_HOLDERS: set[type] = set()


def takes_tables(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a public function of pandas frames: it also takes and returns tables of other libraries."""
    # Its types stay those of pandas.

    @wraps(function)
    def called(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        return call_with_tables(function, args, kwargs)

    return called


def methods_take_tables(kind: type[Any]) -> None:
    """Make all methods of a public class that take frames take tables of other libraries, too."""
    for name, member in [*vars(kind).items()]:
        function = member.__func__ if isinstance(member, classmethod) else member
        is_plain = inspect.isfunction(function) and not hasattr(function, "__wrapped__")
        if is_plain and any(map(_is_table, function.__annotations__.items())):
            called = takes_tables(function)
            setattr(kind, name, classmethod(called) if isinstance(member, classmethod) else called)


def holds_tables(kind: _Class) -> _Class:
    """Mark a class of results: its frames are returned in the library of the caller's table."""
    methods_take_tables(kind)
    _HOLDERS.add(kind)
    return kind


def call_with_tables(function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
    """Call a function of pandas frames with tables of any library."""
    # Frames that it returns, and those of a result, are of the library of the first table.
    order, annotated = _table_parameters(function)
    libraries: list[Library | None] = []

    def read(name: str, value: Any) -> Any:
        if name in annotated and type(value) in (list, tuple):  # of tables
            return type(value)(read(name, each) for each in value)
        if type(value) is Translated:
            libraries.append(value._library)
            return value._held
        if isinstance(value, (pd.DataFrame, pd.Series)):
            libraries.extend([None] * (name in annotated))
        elif _is_foreign(value) and (name in annotated or not _is_column(value)):  # a list of items stays
            value, library = _read_table(value, name)
            libraries.append(library)
        return value

    args = tuple(read(name, value) for name, value in zip((*order, *[""] * len(args)), args, strict=False))
    given = {name: read(name, value) for name, value in given.items()}
    library = libraries[0] if libraries else None
    if library is None:
        return function(*args, **given)
    try:
        return library.translate(function(*args, **given))
    except InfeasibleError as error:
        error.partial = library.translate(error.partial)
        raise


@cache
def _table_parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the parameters that can be passed by position, and those that are tables."""
    parameters = inspect.signature(function).parameters
    order = tuple(name for name, each in parameters.items() if each.kind is not each.KEYWORD_ONLY)
    return order, frozenset(name for name, _ in filter(_is_table, function.__annotations__.items()))


def _is_table(annotated: tuple[str, Any]) -> bool:
    """Return whether an annotation is that of a parameter for a table."""
    name, annotation = annotated
    return name != "return" and _TABLES.search(str(annotation)) is not None


def _is_foreign(value: Any) -> bool:
    return hasattr(type(value), "__arrow_c_stream__") or _is_lazy(value)


def _is_lazy(value: Any) -> bool:
    return _library_of(value) == "polars" and hasattr(value, "collect")


def _library_of(value: Any) -> str:
    return type(value).__module__.partition(".")[0].lstrip("_")


def _read_table(value: Any, name: str) -> tuple[pd.DataFrame | pd.Series[Any], Library]:
    """Read a table or column of another library."""
    try:
        source = value.collect() if _is_lazy(value) else value
        if _is_column(source):
            series = _to_series(pa.chunked_array(source)).rename(getattr(source, "name", None))
            return series, Library(_builder(value, source), pa.schema([]), is_column=True)
        table = pa.table(source)
        frame = pd.DataFrame(
            {number: _to_series(column) for number, column in enumerate(table.columns)},
            index=pd.RangeIndex(table.num_rows),
        )
        frame.columns = pd.Index(table.column_names, dtype=object)
        schema = table.schema
        if _library_of(value) == "polars":  # it makes its own views, and those cast by Arrow 19 crash it
            schema = pa.schema([each.with_type(without_views(each.type)) for each in schema])
        return frame, Library(_builder(value, source), schema)
    except Exception as error:
        got = type(error).__name__
    # Raised outside the handler: the chained error of a library may show a value.
    hint = f"read it with its own library to see the error, such as pyarrow.table({name})"
    if _is_lazy(value):
        hint = f"collect it to see the error: {name}.collect()"
    raise ParameterError("the table cannot be read", where=name, got=got, hint=hint)


def _is_column(value: Any) -> bool:
    return isinstance(value, pa.ChunkedArray) or type(value).__name__ == "Series"


def _to_series(values: pa.ChunkedArray) -> pd.Series[Any]:
    """Convert a column. pandas shares its values, except for categories and views of text."""
    if pa.types.is_dictionary(values.type):
        kind = without_views(values.type)
        signed = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)  # pandas reads no other codes
        return pd.Series(values.cast(signed).to_pandas())  # categories: quasi-identifiers may be grades
    has_codes = is_list_type(values.type) and pa.types.is_dictionary(values.type.value_type)
    kind = values.type if has_codes else without_views(values.type)
    return pd.Series(ListArray(values if kind is values.type else values.cast(kind)))


def without_views(kind: pa.DataType) -> pa.DataType:
    """Return a type of text, bytes, codes, or lists, without views: few functions of Arrow read them."""
    if is_list_type(kind):
        inner = without_views(kind.value_type)
        return kind if inner.equals(kind.value_type) else pa.large_list(inner)
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return pa.dictionary(kind.index_type, pa.large_string(), kind.ordered)
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    return pa.large_string() if pa.types.is_string_view(kind) else kind


# --- Tables in the library of the caller


@frozen
class Library:
    """The library of a table, in which frames are returned."""

    build: Callable[[pa.Table], Any]  # returns a table of the library for an Arrow table
    schema: pa.Schema  # of the table that was read; returned columns of the same name have their layout
    is_column: bool = False  # a single column was read

    def translate(self, value: Any) -> Any:
        """Return frames, and what holds frames, in this library; everything else unchanged."""
        if isinstance(value, pd.DataFrame):
            return self.build(self._to_arrow(value))
        if isinstance(value, pd.Series) and self.is_column:
            return self.build(self._to_arrow(value.to_frame(str(value.name))))[str(value.name)]
        if type(value) in _HOLDERS:
            return Translated(value, self)
        if isinstance(value, dict):
            return {name: self.translate(each) for name, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(self.translate, value))
        return value

    def _to_arrow(self, frame: pd.DataFrame) -> pa.Table:
        """Convert a frame. A named index becomes columns: other libraries have none."""
        if not (isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))):
            index = frame.index.to_frame(index=False)
            frame = pd.concat([index, frame.reset_index(drop=True)], axis=1)
        repeats = len({*self.schema.names}) < len(self.schema)
        names = [*map(str, frame.columns)] if repeats else _distinct_names(frame.columns)
        columns, fields = [], []
        for position, name in enumerate(names):
            places = self.schema.get_all_field_indices(name)
            before = self.schema.field(places[0]) if len(places) == 1 else pa.field(name, pa.null())
            values = _to_column(frame.iloc[:, position])
            column = _as_before(values, before.type)
            columns.append(column)
            # Metadata may list values: a column that may have been recoded has none.
            recoded = _is_text(values.type) or is_list_type(values.type)
            same = column.type.equals(before.type, check_metadata=True)
            fields.append(before if same and not recoded else pa.field(name, column.type))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _distinct_names(labels: pd.Index[Any]) -> list[str]:
    """Return the labels as distinct texts: a repeated one gets a number."""
    names: list[str] = []
    for label in map(str, labels):
        number, name = 2, label
        while name in names:
            name, number = f"{label}_{number}", number + 1
        names.append(name)
    return names


def _to_column(series: pd.Series[Any]) -> pa.ChunkedArray:
    """Convert a column to Arrow. Intervals, and objects of several types, become text as in CSV."""
    if not isinstance(series.dtype, pd.IntervalDtype):
        try:
            return arrow_values(series)
        except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
            if not pd.api.types.is_object_dtype(series.dtype):
                raise
    texts = [None if missing else str(each) for each, missing in zip(series, series.isna(), strict=True)]
    return pa.chunked_array([pa.array(texts, pa.large_string())])


def _as_before(values: pa.ChunkedArray, before: pa.DataType) -> pa.ChunkedArray:
    """Return values in the layout of the column that they replace, as far as Arrow can convert them."""
    if values.type.equals(before):
        return values
    for kind in _layouts(values.type, before):
        with suppress(pa.ArrowException):
            return values.cast(kind)
    return values


def _layouts(now: pa.DataType, before: pa.DataType) -> Iterator[pa.DataType]:
    """Yield the types to convert a column to, the best one first."""
    if is_list_type(now) and is_list_type(before):
        large = pa.types.is_large_list(before) or pa.types.is_large_list_view(before)
        for kind in (*_layouts(now.value_type, before.value_type), now.value_type):
            yield pa.large_list(kind) if large else pa.list_(kind)
    elif _is_text(now) and pa.types.is_dictionary(before) and _is_text(before.value_type):
        yield pa.dictionary(before.index_type, before.value_type)
        yield pa.dictionary(pa.int32(), pa.large_string())
    elif (_is_text(now) and _is_text(before)) or (
        pa.types.is_dictionary(now) and pa.types.is_dictionary(before)
    ):
        yield before


def _is_text(kind: pa.DataType) -> bool:
    return is_text_type(kind) or bool(pa.types.is_string_view(kind))


def _builder(value: Any, source: Any) -> Callable[[pa.Table], Any]:
    """Return the function that makes a table of the library of ``value``, collected as ``source``."""
    # It keeps no rows: those of the original must not travel with a result. Arrow tables stand for libraries
    # that are unknown.
    if _library_of(value) == "polars":
        return partial(_to_polars, _enums(source), _is_lazy(value))
    return partial(_to_relation, value) if _library_of(value) == "duckdb" else _to_itself


def _to_itself(table: pa.Table) -> Any:
    return table


def _to_relation(source: Any, released: pa.Table) -> Any:
    """Return a relation, on the connection of the source unless it reads no objects of Python."""
    duckdb = import_module("duckdb")
    with suppress(duckdb.Error):
        return source.query("source", "select * from released")  # found by the name of the argument
    return duckdb.from_arrow(released)


def _enums(frame: Any) -> dict[str, tuple[str, ...]]:
    """Return the categories of each column of a polars frame with values, or lists, of an Enum."""
    enum, schema = import_module("polars").Enum, getattr(frame, "schema", {})
    inner = {name: getattr(kind, "inner", kind) for name, kind in schema.items()}
    return {name: tuple(kind.categories) for name, kind in inner.items() if isinstance(kind, enum)}


def _to_polars(enums: Mapping[str, Sequence[str]], lazy: bool, table: pa.Table) -> Any:
    """Return a polars frame or column. Recoded columns of an Enum get one of the values that occur."""
    # The categories of the original would publish what was suppressed.
    polars = import_module("polars")
    frame = polars.from_arrow(table)
    for name in {*enums} & {*frame.columns}:
        kind, wrap = frame.schema[name], polars.List
        if not isinstance(kind, polars.List):
            kind, wrap = polars.List(kind), _to_itself
        if not isinstance(kind.inner, (polars.String, polars.Categorical)):
            continue
        texts = frame[name].cast(wrap(polars.String))
        present = {*(texts.explode() if wrap is polars.List else texts).drop_nulls()}
        known = [each for each in enums[name] if each in present]
        enum = polars.Enum([*known, *sorted(present.difference(known))])
        frame = frame.with_columns(texts.cast(wrap(enum)))
    return frame.lazy() if lazy else frame


# --- Results


class Translated:
    """A result whose frames are tables of another library."""

    # It behaves as the result, also for ``isinstance``. A frame is converted when it is first read.

    def __init__(self, held: Any, library: Library) -> None:
        self._held = held
        self._library = library
        self._seen: dict[str, Any] = {}

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._held)

    def __getattr__(self, name: str) -> Any:
        if name in self._seen:
            return self._seen[name]
        value = getattr(self._held, name)
        if inspect.ismethod(value):

            @wraps(value)
            def called(*args: Any, **kwargs: Any) -> Any:
                return self._library.translate(value(*args, **kwargs))

            return called
        translated = self._library.translate(value)
        if translated is not value:
            self._seen[name] = translated
        return translated

    def __getitem__(self, name: Any) -> Any:
        return self._held[name]

    def __iter__(self) -> Iterator[Any]:
        return (self._library.translate(each) for each in self._held)

    def __repr__(self) -> str:
        return repr(self._held)

    def __dir__(self) -> list[str]:
        return dir(self._held)

    def __reduce__(self) -> tuple[Any, ...]:
        return Translated, (self._held, self._library)
