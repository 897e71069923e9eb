//! Where on their devices requests lay, over time.

use super::depth::Changes;
use super::figures::carries_data;
use super::gathered::Gathered;
use super::timeline;
use super::timeline::IoStretch;
use record::{Device, Nanos, Operation, Record, Request};
use std::collections::BTreeMap;

const SECTOR_BYTES: u64 = 512;

/// In how many parts throughput is shown.
const STRETCHES: usize = 200;

/// Requests as places on their devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Seek {
    /// The name of the mark at time zero.
    pub zero: String,
    /// The first and the last time of any request.
    pub span: (Nanos, Nanos),
    /// Devices with requests that carry data, most bytes first.
    pub devices: Vec<SeekDevice>,
    /// Throughput.
    pub timeline: Vec<IoStretch>,
    /// How many requests there were, and how many of them are here.
    pub requests: u64,
    /// How many of them are here, the first.
    pub kept: u64,
}

/// The requests of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct SeekDevice {
    /// Which.
    pub device: Device,
    /// The first byte of the device that any request is about.
    pub first: u64,
    /// The byte behind the last one.
    pub end: u64,
    /// Its requests that carry data, by the first time that is known of them.
    pub points: Vec<SeekPoint>,
}

/// A request as a place on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekPoint {
    /// What was asked.
    pub operation: Operation,
    /// When the device got it, or as near to that as is known.
    pub start: Nanos,
    /// When it was done; if that was not seen, when it began.
    pub end: Nanos,
    /// Where it begins on the device, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// From the first issue to completion.
    pub service: Option<Nanos>,
}

/// Where on their devices requests lay, over time; `None` without any request.
#[must_use]
pub fn seek(record: &Record) -> Option<Seek> {
    let requests = record.requests();
    let all = Gathered::of(requests);
    let span = all.span?;
    let mut devices: BTreeMap<Device, SeekDevice> = BTreeMap::new();
    for r in requests {
        let Some(point) = point(r) else { continue };
        let of = devices.entry(r.device).or_insert_with(|| SeekDevice {
            device: r.device,
            first: u64::MAX,
            end: 0,
            points: Vec::new(),
        });
        of.first = of.first.min(point.offset);
        of.end = of.end.max(point.offset.saturating_add(point.bytes));
        of.points.push(point);
    }
    let mut devices: Vec<SeekDevice> = devices.into_values().collect();
    devices.sort_by_key(|d| {
        let moved = d.points.iter().map(|p| u128::from(p.bytes));
        (std::cmp::Reverse(moved.sum::<u128>()), d.device)
    });
    Some(Seek {
        zero: record.zero().to_owned(),
        span,
        devices,
        timeline: timeline::stretches(span, requests, &Changes::of(all.came, all.left), STRETCHES),
        requests: record.request_totals().map(|t| t.1.requests).sum(),
        kept: requests.len() as u64,
    })
}

fn point(r: &Request) -> Option<SeekPoint> {
    if !carries_data(r.operation) {
        return None;
    }
    let start = r.issued.get().or(r.first())?;
    Some(SeekPoint {
        operation: r.operation,
        start,
        end: r.completed.get().unwrap_or(start).max(start),
        offset: r.sector.saturating_mul(SECTOR_BYTES),
        bytes: r.bytes,
        service: r.service(),
    })
}
