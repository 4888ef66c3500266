//! The API of Karmada One: types, constants, names and admission rules.
