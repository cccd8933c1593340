#include "analysis/cost/prices.h"

#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace deepgap {
namespace {

std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : name + " ") {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

const Price* best_match(const std::vector<Price>& prices, bool of_machine, const std::string& name) {
  const Price* best = nullptr;
  size_t most = 0;
  for (const Price& price : prices) {
    if (price.of_machine != of_machine || !names_match(price.name, name)) continue;
    const size_t words = words_of(price.name).size();
    if (words > most) best = &price;
    most = std::max(most, words);
  }
  return best;
}

}  // namespace

bool names_match(const std::string& words, const std::string& name) {
  const std::set<std::string> asked = words_of(words), there = words_of(name);
  return !asked.empty() && std::includes(there.begin(), there.end(), asked.begin(), asked.end());
}

const Price* find_price(const Prices& prices, const Identity& identity) {
  const Price* price = best_match(prices.prices, false, identity.device);
  return price != nullptr ? price : best_match(prices.prices, true, identity.machine);
}

std::optional<Days> days_of(const std::string& date) {
  using namespace std::chrono;
  std::vector<unsigned> numbers;
  for (const std::string& part : split(date, '-')) {
    const auto number = parse_int(part);
    if (!number || *number < 0 || part.size() != (numbers.empty() ? 4U : 2U)) return std::nullopt;
    numbers.push_back(static_cast<unsigned>(*number));
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const year in_year{static_cast<int>(numbers[0])};
  const month first{numbers.size() > 1 ? numbers[1] : 1U}, last{numbers.size() > 1 ? numbers[1] : 12U};
  if (!first.ok()) return std::nullopt;
  if (numbers.size() < 3) return Days{sys_days(in_year / first / 1), sys_days(in_year / last / std::chrono::last)};
  const year_month_day only = in_year / first / day{numbers[2]};
  return only.ok() ? std::optional(Days{sys_days(only), sys_days(only)}) : std::nullopt;
}

}  // namespace deepgap
