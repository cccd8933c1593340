#include "cli/price_file.h"

#include "base/file.h"
#include "base/text.h"
#include "packed_prices.h"
#include "plan/toml_node.h"

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

class PriceReader {
 public:
  PriceReader(const std::string& text, const std::string& label, std::chrono::sys_days today) : file_(text, label), today_(today) {
    prices_.label = label;
  }

  Prices read() {
    for (const auto& [key, node] : in_file_order(file_.root())) {
      if (key == "price") {
        read_prices(*node);
      } else if (key == "electricity") {
        read_electricity(*node);
      } else {
        file_.fail(*node, unknown_name("key", key, {"price", "electricity"}));
      }
    }
    if (prices_.empty()) throw Error(ErrorKind::input, fmt::format("{}: no [[price]] and no [electricity] in it", prices_.label));
    return std::move(prices_);
  }

 private:
  struct Bought {
    double price = 0, years = 0, utilization = 1;
  };

  void read_prices(const toml::node& node) {
    const auto* list = node.as_array();
    if (list == nullptr) file_.fail(node, "prices are written as [[price]], one for each device or machine");
    for (const toml::node& entry : *list) add(entry, read_price(entry));
  }

  double number(const std::string& key, const toml::node& node) const {
    const auto value = node.value<double>();
    if (!node.is_number() || !value || !std::isfinite(*value)) file_.fail(node, fmt::format("'{}' must be a number", key));
    return *value;
  }
  double not_negative(const std::string& key, const toml::node& node) const {
    const double value = number(key, node);
    if (value < 0) file_.fail(node, fmt::format("'{}' is negative", key));
    return value;
  }
  double positive(const std::string& key, const toml::node& node) const {
    const double value = number(key, node);
    if (!(value > 0)) file_.fail(node, fmt::format("'{}' must be more than 0", key));
    return value;
  }
  double share(const std::string& key, const toml::node& node) const {
    const double value = node.is_string() ? parse_fraction(node.as_string()->get()).value_or(-1) : number(key, node);
    if (!(value > 0 && value <= 1)) file_.fail(node, fmt::format("'{}' must be a share of the time, such as \"40%\" or 0.4", key));
    return value;
  }

  // TOML's own date, or a text with less in it: "2025".
  std::string date(const toml::node& node) const {
    std::string text = node.is_string() ? node.as_string()->get() : "";
    if (const auto* day = node.as_date()) text = fmt::format("{:04}-{:02}-{:02}", day->get().year, day->get().month, day->get().day);
    const auto days = days_of(text);
    if (!days) file_.fail(node, "'date' must be when the price was looked up: 2025-04-30, \"2025-04\" or \"2025\"");
    if (days->first > today_) file_.fail(node, fmt::format("'date' {} is in the future", text));
    return text;
  }
  void note_age(const std::string& what, const std::string& date) {
    constexpr std::chrono::days year{365};
    if (days_of(date)->last + year < today_)
      prices_.warnings.push_back(fmt::format("{}: the price of {} is of {}, more than a year old", prices_.label, what, date));
  }

  void set_currency(const toml::node& node, const std::string& currency) {
    if (prices_.currency.empty()) prices_.currency = currency;
    if (prices_.currency != currency)
      file_.fail(node, fmt::format("a price in {} beside one in {}: give all in one currency", currency, prices_.currency));
  }

  Price read_price(const toml::node& node) {
    Price price;
    std::optional<Bought> bought;
    const auto of_bought = [&]() -> Bought& { return bought ? *bought : bought.emplace(); };
    const toml::node* by_hour = nullptr;
    for (const auto& [key, value] : in_file_order(file_.table("price", node))) {
      if (key == "device" || key == "machine") {
        if (!price.name.empty()) file_.fail(*value, "a price is of a device or of a machine, not of both");
        price.name = file_.text(key, *value);
        price.of_machine = key == "machine";
      } else if (key == "devices") {
        price.devices = static_cast<int>(file_.whole(key, *value, 1, 1'000'000));
      } else if (key == "per_hour") {
        by_hour = value;
        price.per_hour = not_negative(key, *value);
      } else if (key == "bought") {
        of_bought().price = not_negative(key, *value);
      } else if (key == "years") {
        of_bought().years = positive(key, *value);
      } else if (key == "utilization") {
        of_bought().utilization = share(key, *value);
      } else if (key == "power_w") {
        price.power_w = positive(key, *value);
      } else if (!read_origin(key, *value, price.currency, price.source, price.date)) {
        file_.fail(*value, unknown_name("key", key,
                                        {"device", "machine", "devices", "per_hour", "bought", "years", "utilization", "power_w",
                                         "currency", "source", "date"}));
      }
    }
    require(node, price);
    if ((by_hour != nullptr) == bought.has_value())
      file_.fail(node, "a price is rented (per_hour) or bought (bought, years, utilization): give one of the two");
    if (bought) {
      if (bought->years == 0) file_.fail(node, "'years' is missing: over how many the price is spread");
      price.bought = true;
      price.per_hour = bought->price / (bought->years * hours_per_year * bought->utilization);
    }
    return price;
  }

  bool read_origin(const std::string& key, const toml::node& value, std::string& currency, std::string& source, std::string& when) {
    if (key == "currency") {
      currency = file_.text(key, value);
      set_currency(value, currency);
    } else if (key == "source") {
      source = file_.text(key, value);
    } else if (key == "date") {
      when = date(value);
    } else {
      return false;
    }
    return true;
  }

  void require(const toml::node& node, const Price& price) const {
    if (price.name.empty()) file_.fail(node, "a price needs the name of its 'device' or 'machine'");
    if (price.currency.empty()) file_.fail(node, "a price needs its 'currency', such as \"USD\"");
    if (price.source.empty()) file_.fail(node, "a price needs its 'source'");
    if (price.date.empty()) file_.fail(node, "a price needs its 'date'");
    if (price.of_machine && price.devices != 1) file_.fail(node, "'devices' is of a device's price; a machine's is of all that is in it");
  }

  void add(const toml::node& node, Price price) {
    for (const Price& other : prices_.prices) {
      if (other.of_machine == price.of_machine && names_match(other.name, price.name) && names_match(price.name, other.name))
        file_.fail(node, fmt::format("'{}' has two prices", price.name));
    }
    note_age(price.name, price.date);
    prices_.prices.push_back(std::move(price));
  }

  void read_electricity(const toml::node& node) {
    Electricity electricity;
    std::string currency;
    bool priced = false;
    for (const auto& [key, value] : in_file_order(file_.table("electricity", node))) {
      if (key == "per_kwh") {
        electricity.per_kwh = not_negative(key, *value);
        priced = true;
      } else if (key == "pue") {
        electricity.pue = number(key, *value);
        if (electricity.pue < 1) file_.fail(*value, "'pue' is the building's power over the machine's: 1 or more");
      } else if (key == "co2_g_per_kwh") {
        electricity.co2_g_per_kwh = not_negative(key, *value);
      } else if (!read_origin(key, *value, currency, electricity.source, electricity.date)) {
        file_.fail(*value, unknown_name("key", key, {"per_kwh", "pue", "co2_g_per_kwh", "currency", "source", "date"}));
      }
    }
    if (!priced) file_.fail(node, "'per_kwh' is missing: what a kilowatt-hour costs");
    if (currency.empty()) file_.fail(node, "electricity needs its 'currency', such as \"USD\"");
    if (electricity.source.empty() || electricity.date.empty()) file_.fail(node, "electricity needs its 'source' and its 'date'");
    note_age("electricity", electricity.date);
    prices_.electricity = electricity;
  }

  TomlFile file_;
  std::chrono::sys_days today_;
  Prices prices_;
};

}  // namespace

Prices read_prices(const std::string& text, const std::string& label, std::chrono::sys_days today) {
  return PriceReader(text, label, today).read();
}

Prices open_prices(const std::string& name) {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  if (name != "studies") return read_prices(read_text(name), name, today);
  Prices prices = read_prices(std::string(packed_prices().front().second), "the studies' prices", today);
  prices.warnings.insert(prices.warnings.begin(),
                         fmt::format("the bundled prices are of {}; pass your own with --prices FILE", prices.prices.front().date));
  return prices;
}

}  // namespace deepgap
