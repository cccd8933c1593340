#include "base/common_words.h"

#include <array>

namespace deepgap {
namespace {

constexpr std::array<const char*, common_word_count> words{
    "time",      "year",     "people",    "way",     "day",      "man",     "thing",      "woman",       "life",  "child",     "world",
    "school",    "state",    "family",    "student", "group",    "country", "problem",    "hand",        "part",  "place",     "case",
    "week",      "company",  "system",    "program", "question", "work",    "government", "number",      "night", "point",     "home",
    "water",     "room",     "mother",    "area",    "money",    "story",   "fact",       "month",       "lot",   "right",     "study",
    "book",      "eye",      "job",       "word",    "business", "issue",   "side",       "kind",        "head",  "house",     "service",
    "friend",    "father",   "power",     "hour",    "game",     "line",    "end",        "member",      "law",   "car",       "city",
    "community", "name",     "president", "team",    "minute",   "idea",    "body",       "information", "back",  "parent",    "face",
    "level",     "office",   "door",      "health",  "person",   "art",     "war",        "history",     "party", "result",    "change",
    "morning",   "reason",   "research",  "girl",    "guy",      "moment",  "air",        "teacher",     "force", "education", "foot",
    "boy",       "age",      "policy",    "music",   "process",  "market",  "sense",      "nation",      "plan",  "college",   "interest",
    "death",     "course",   "control",   "food",    "field",    "effect",  "light",      "road",        "form",  "space",     "nature",
    "method",    "language", "society",   "table",   "paper",    "river",   "color"};

}  // namespace

const char* common_word(uint64_t number) { return words[number % words.size()]; }

// The seed shifts the numbers, so that neighbouring seeds have no text in common for a long time; an odd factor keeps them distinct and
// makes neighbouring numbers differ in every word.
std::string unique_text(uint64_t seed, uint64_t number) {
  constexpr uint64_t range = uint64_t{1} << (7 * unique_words), odd = 0x5bd1e995b;
  uint64_t rest = (number + seed * 0x9e3779b97) * odd % range;
  std::string text;
  for (int i = 0; i < unique_words; ++i, rest /= words.size()) text += std::string(" ") + common_word(rest);
  return text;
}

}  // namespace deepgap
