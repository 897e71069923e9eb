//! What treatments cost.

use std::collections::BTreeMap;
use treat::{FileTreatment, Treatment};

/// What following findings costs, by treatment.
#[derive(Default)]
pub(super) struct Prices(BTreeMap<String, String>);

impl Prices {
    /// What a finding says of its treatment; the first one stays.
    pub(super) fn put(&mut self, treatment: &Treatment, price: String) {
        self.0.entry(treatment.to_string()).or_insert(price);
    }

    /// What a treatment costs: as its finding says, or as all of its kind.
    pub(super) fn of(&self, treatment: &Treatment) -> String {
        let kind = || {
            FileTreatment::from(treatment.clone())
                .kind()
                .risk
                .to_owned()
        };
        let said = self.0.get(&treatment.to_string()).cloned();
        let price = said.unwrap_or_else(kind);
        match treatment.weakens() {
            Some(lost) => format!("{price}; weakens a product: {lost}"),
            None => price,
        }
    }
}
