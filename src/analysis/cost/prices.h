// Price: what a device or a machine costs by the hour, with currency, source and date; Prices: a file of them (docs/reference/files.md has
// the format, cli/price_file.h reads it). Plain values and pure functions; any thread.
#pragma once

#include "record/identity.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Either rented by the hour, or bought: then `per_hour` is the price spread over the hours in which it works, and electricity comes on top.
struct Price {
  std::string name;         // words of the device's or machine's name: "V100-SXM2-32GB"
  bool of_machine = false;  // then it is the price of all that is in it, whatever the Point used
  int devices = 1;          // how many devices it is the price of
  bool bought = false;
  double per_hour = 0;                 // price of `devices` devices, or of the machine
  std::optional<double> power_w;       // power of one device, or of the machine, where nothing measured it
  std::string currency, source, date;  // date: "2025", "2025-04" or "2025-04-30"
};

struct Electricity {
  double per_kwh = 0;
  double pue = 1;                       // what the building uses for each watt of the machine
  std::optional<double> co2_g_per_kwh;  // grams of CO2 for each kWh from the grid
  std::string source, date;
};

struct Prices {
  std::string label;  // what is said of them: "prices.toml", "the studies' prices"
  std::string currency;
  std::vector<Price> prices;
  std::optional<Electricity> electricity;
  std::vector<std::string> warnings;  // a line each: an entry older than a year

  bool empty() const { return prices.empty() && !electricity; }
};

// Hours in a year and in a month, on average.
inline constexpr double hours_per_year = 8766, hours_per_month = hours_per_year / 12;

// The Price whose every word is a word of the name, the one with most words; nullptr: none. Words are runs of letters and digits, whatever
// their case: "V100-SXM2-32GB" is a price of "Tesla V100-SXM2-32GB". A device's price goes before its machine's.
const Price* find_price(const Prices& prices, const Identity& identity);
bool names_match(const std::string& words, const std::string& name);

// The days that a date may mean, from the first to the last: "2025" is a year of them; nullopt: it is no date.
struct Days {
  std::chrono::sys_days first, last;
};
std::optional<Days> days_of(const std::string& date);

}  // namespace deepgap
