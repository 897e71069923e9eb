//! What systemd says over D-Bus, as it says it.
//!
//! The answers are kept raw, one JSON object a line, each value as `busctl
//! --json` writes it: `{"type": "t", "data": 5}`. The source `systemd-dbus`
//! reads them, and its documentation describes the form.

use agent::capture::SourceFile;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;
use zbus::blocking::{Connection, connection::Builder, fdo::DBusProxy};
use zbus::names::BusName;
use zbus::zvariant::{Array, OwnedObjectPath, OwnedValue, Structure, Value};

const SERVICE: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT: &str = "org.freedesktop.systemd1.Unit";

/// A manager that does not answer within this is not asked on.
const PATIENCE: Duration = Duration::from_secs(10);

/// The manager's interfaces that say more of a unit, by what its name ends with:
/// when its processes ran, and how they ended.
const MORE: [(&str, &str); 4] = [
    (".service", "org.freedesktop.systemd1.Service"),
    (".mount", "org.freedesktop.systemd1.Mount"),
    (".socket", "org.freedesktop.systemd1.Socket"),
    (".swap", "org.freedesktop.systemd1.Swap"),
];

/// The control group of the manager.
const MANAGER_SCOPE: &str = "init.scope";

/// A unit as `ListUnits` lists it: its name and its object.
type Listed = (
    String,
    String,
    String,
    String,
    String,
    String,
    OwnedObjectPath,
    u32,
    String,
    OwnedObjectPath,
);

/// What the running manager and its units say; `None` where no bus can be
/// reached, or systemd is not on it.
///
/// # Errors
/// If systemd is there, and does not answer as it should.
pub fn answers() -> zbus::Result<Option<Vec<u8>>> {
    let connected = Builder::system().and_then(|b| b.method_timeout(PATIENCE).build());
    let Ok(bus) = connected else { return Ok(None) };
    let name = BusName::try_from(SERVICE)?;
    if !DBusProxy::new(&bus)?.name_has_owner(name)? {
        return Ok(None);
    }
    let mut lines = Vec::new();
    let mut add = |line: Json| {
        lines.extend(line.to_string().into_bytes());
        lines.push(b'\n');
    };
    add(json!({"firstlight_systemd_dbus": 1}));
    add(properties(&bus, MANAGER_PATH, MANAGER)?);
    let listed = bus.call_method(Some(SERVICE), MANAGER_PATH, Some(MANAGER), "ListUnits", &())?;
    let mut units: Vec<Listed> = listed.body().deserialize()?;
    // The manager's own scope first: each answer takes processor time of the manager.
    units.sort_by(|a, b| (a.0 != MANAGER_SCOPE, &a.0).cmp(&(b.0 != MANAGER_SCOPE, &b.0)));
    for (name, .., path, _, _, _) in &units {
        // A unit may be gone again.
        let Ok(mut unit) = properties(&bus, path, UNIT) else {
            continue;
        };
        let more = MORE.iter().find(|m| name.ends_with(m.0));
        if let Some((_, interface)) = more
            && let Ok(more) = properties(&bus, path, interface)
            && let (Some(Json::Object(unit)), Json::Object(more)) =
                (unit.get_mut("properties"), &more["properties"])
        {
            unit.extend(more.clone());
        }
        add(unit);
    }
    Ok(Some(lines))
}

/// The answers as a file of a capture.
pub fn source() -> SourceFile {
    SourceFile {
        name: "systemd over D-Bus".into(),
        format: "systemd-dbus".into(),
        file: "systemd-dbus.json".into(),
        clock: "monotonic".into(),
    }
}

/// All properties that an object has of an interface.
fn properties(bus: &Connection, path: &str, interface: &str) -> zbus::Result<Json> {
    let reply = bus.call_method(
        Some(SERVICE),
        path,
        Some("org.freedesktop.DBus.Properties"),
        "GetAll",
        &interface,
    )?;
    // Sorted, so that the same answers are the same bytes.
    let values: BTreeMap<String, OwnedValue> = reply.body().deserialize()?;
    let values = values.iter().map(|(name, v)| (name.clone(), variant(v)));
    let values: Map<String, Json> = values.collect();
    Ok(json!({"path": path, "interface": interface, "properties": values}))
}

/// A value with its type.
fn variant(value: &Value<'_>) -> Json {
    json!({"type": value.value_signature().to_string(), "data": data(value)})
}

/// A value.
fn data(value: &Value<'_>) -> Json {
    let array = |a: &Array<'_>| Json::Array(a.iter().map(data).collect());
    let fields = |s: &Structure<'_>| Json::Array(s.fields().iter().map(data).collect());
    match value {
        Value::U8(n) => (*n).into(),
        Value::Bool(b) => (*b).into(),
        Value::I16(n) => (*n).into(),
        Value::U16(n) => (*n).into(),
        Value::I32(n) => (*n).into(),
        Value::U32(n) => (*n).into(),
        Value::I64(n) => (*n).into(),
        Value::U64(n) => (*n).into(),
        Value::F64(n) => (*n).into(),
        Value::Str(s) => s.as_str().into(),
        Value::Signature(s) => s.to_string().into(),
        Value::ObjectPath(p) => p.as_str().into(),
        Value::Value(v) => variant(v),
        Value::Array(a) => array(a),
        Value::Structure(s) => fields(s),
        Value::Dict(d) => {
            let pairs = d.iter().map(|(k, v)| match k {
                Value::Str(k) => (k.to_string(), data(v)),
                k => (data(k).to_string(), data(v)),
            });
            Json::Object(pairs.collect())
        }
        // A file descriptor says nothing on paper.
        _ => Json::Null,
    }
}
