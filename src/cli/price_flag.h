// --prices FILE, for commands that read Stores.
#pragma once

#include "analysis/cost/prices.h"
#include "analysis/results.h"

#include <CLI/CLI.hpp>

#include <string>

namespace deepgap {

void declare_prices(CLI::App& app, std::string& name);

// Returns the prices; empty if no file was named. Reports old prices on standard error. Throws Error{usage|input}.
Prices prices_of_flag(const std::string& name);

// Gives the points their costs, and the Results the currency and notes on what the prices lack. Throws Error{input} where what is published
// in the Stores is in another currency.
void price_results(const Prices& prices, Results& results);

// Checks one Record's fact `published.currency` likewise.
void check_currency(const Prices& prices, const std::string& published);

}  // namespace deepgap
