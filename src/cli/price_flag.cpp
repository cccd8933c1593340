#include "cli/price_flag.h"

#include "analysis/cost/cost.h"
#include "analysis/words.h"
#include "base/console.h"
#include "base/words.h"
#include "cli/price_file.h"
#include "record/published.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {

void declare_prices(CLI::App& app, std::string& name) {
  app.add_option("--prices", name, "Prices of devices by the hour, as TOML; 'studies' takes the bundled prices, which are dated")
      ->type_name("FILE");
}

Prices prices_of_flag(const std::string& name) {
  if (name.empty()) return {};
  Prices prices = open_prices(name);
  for (const std::string& warning : prices.warnings) say(stderr, fmt::format("deepgap: note: {}\n", printable(warning)));
  return prices;
}

void check_currency(const Prices& prices, const std::string& published) {
  if (prices.currency.empty() || published.empty() || prices.currency == published) return;
  throw Error(ErrorKind::input, fmt::format("{} is in {}, but the costs published in the stores are in {}: give prices in that currency",
                                            prices.label, prices.currency, published));
}

namespace {

// Costs that Records were imported with are of one currency, or cannot stand in one table.
std::string published_currency(const Results& results) {
  const auto found = results.facts.find(published_currency_fact);
  if (found == results.facts.end() || found->second.counts.size() < 2) return only_value(results.facts, published_currency_fact);
  std::vector<std::string> currencies;
  for (const auto& [currency, records] : found->second.counts) currencies.push_back(currency);
  throw Error(ErrorKind::input, fmt::format("the costs published in the stores are in {}: choose one currency with --select currency={}",
                                            list_of(currencies), currencies.front()));
}

}  // namespace

void price_results(const Prices& prices, Results& results) {
  const std::string published = published_currency(results);
  check_currency(prices, published);
  results.currency = prices.currency.empty() ? published : prices.currency;
  results.price_notes = add_costs(prices, results.points);
}

}  // namespace deepgap
