#include "cli/price_flag.h"

#include "analysis/cost/cost.h"
#include "base/console.h"
#include "base/words.h"
#include "published/price_file.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {

void declare_prices(CLI::App& app, std::string& name) {
  app.add_option("--prices", name,
                 "What devices cost by the hour, as TOML (docs/decide.md); 'studies' for the packed prices of the studies, which are dated")
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
  throw Error(ErrorKind::input, fmt::format("{} is in {}, and what is published in the Stores in {}: give prices in that", prices.label,
                                            prices.currency, published));
}

void price_results(const Prices& prices, Results& results) {
  const std::string published = only_value(results.facts, "published.currency");
  check_currency(prices, published);
  results.currency = prices.currency.empty() ? published : prices.currency;
  results.price_notes = add_costs(prices, results.points);
}

}  // namespace deepgap
