// The promise of --anonymous: no host name, serial number, user name or absolute path is left in a Record.
//
// Facts are dropped by the words in their dotted keys (host name, serial, uuid, user, ...). Their values, and the user names seen in paths,
// are then secrets: they are replaced wherever else they occur as a word, in any case. Absolute paths shrink to their last part, so that
// "/home/ann/models/x.onnx" still names the model; so do relative ones, which a Point gives away by naming a file by one: its folders are
// taken out of the messages too. Names that deepgap itself defines (outcomes, metrics, scenario, backend) are left alone. It errs on the
// side of leaving out. Which Records ran on one node stays: each has a new name, since intervals hang on it.
#include "base/dump_json.h"
#include "store/store.h"

#include "base/parse_json.h"
#include "base/text.h"
#include "record/identity.h"

#include <deepgap/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

constexpr std::string_view removed = "anonymous";
constexpr std::string_view unavailable = "not available";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool same_letter(char a, char b) { return lower(a) == lower(b); }

// Returns true for keys that identify somebody: "host.name", "host" and "hostname" do; "memory.total_bytes" does not. A value under an
// owner's key identifies only as text: "cpu_time.user" is a number.
bool tells_who(const std::string& key, const Fact& fact) {
  constexpr std::array<std::string_view, 14> telling{"serial",     "uuid", "hostname", "username", "login",   "nodename", "fqdn",
                                                     "domainname", "mac",  "email",    "remote",   "cmdline", "url",      "ip"};
  constexpr std::array<std::string_view, 4> owners{"host", "user", "owner", "author"};
  constexpr std::array<std::string_view, 6> named{"host", "user", "owner", "author", "node", "machine"};
  const auto among = [](const auto& list, const std::string& word) { return std::find(list.begin(), list.end(), word) != list.end(); };
  if (key == fleet_node_fact) return true;
  std::vector<std::string> words;
  for (const std::string& part : split(key, '.')) {
    for (const std::string& word : split(part, '_')) words.push_back(word);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (among(telling, words[i])) return true;
    const bool last = i + 1 == words.size();
    const bool who = last ? among(owners, words[i]) : among(named, words[i]) && (words[i + 1] == "name" || words[i + 1] == "id");
    if (who && std::holds_alternative<std::string>(fact)) return true;
  }
  return false;
}

// Returns how much of the text is the folders of a path: up to its last part, which is "x.onnx" in "../models/x.onnx" and "b" in "a/b/".
size_t folders_length(std::string_view path) {
  const size_t last = path.find_last_not_of('/');
  if (last == std::string_view::npos) return 0;
  return path.rfind('/', last) + 1;  // npos + 1: none
}

std::string last_part(std::string_view path) {
  const std::string_view part = path.substr(folders_length(path));
  return std::string(part.substr(0, part.find_last_not_of('/') + 1));
}

// Returns whether an option's value, which is any text, is a path: "0-3/8" and "input:1x3/mask:Nx7" are not.
bool is_path(const std::string& value) {
  return value.find('/') != std::string::npos &&
         (value.starts_with(".") || value.starts_with("/") || value.starts_with("~") || last_part(value).find('.') != std::string::npos);
}

// Returns the parts of a Point that name files.
std::vector<std::string> paths_of(const Point& point) {
  std::vector<std::string> paths{point.model, point.weights, point.dataset};
  for (const auto& [key, value] : point.options) {
    if (is_path(value)) paths.push_back(value);
  }
  return paths;
}

// Words that must go. Short ones and the system's own would tear other text apart and identify nobody.
class Secrets {
 public:
  void add(std::string_view word) {
    constexpr std::array<std::string_view, 7> common{"root", "localhost", "home", "user", "users", "unknown", "none"};
    if (word.size() < 3 || std::find(common.begin(), common.end(), word) != common.end() ||
        word.substr(0, unavailable.size()) == unavailable)
      return;
    if (std::find(words_.begin(), words_.end(), word) != words_.end()) return;
    // Longest first, so that a full host name goes before its first part.
    const auto shorter = std::find_if(words_.begin(), words_.end(), [&](const auto& known) { return known.size() < word.size(); });
    words_.emplace(shorter, word);
  }
  // A host name also goes without its domain.
  void add_host(std::string_view name) {
    add(name);
    add(name.substr(0, name.find('.')));
  }
  void add_users_of_paths(std::string_view text) {
    for (const std::string_view parent : {"/home/", "/Users/", "/users/", "/scratch/", "/mnt/home/"}) {
      for (size_t at = text.find(parent); at != std::string_view::npos; at = text.find(parent, at + 1)) {
        const std::string_view name = text.substr(at + parent.size());
        add(name.substr(0, std::min(name.find_first_of("/ \t\n:;,\"'()"), name.size())));
      }
    }
  }
  // The folders of a relative path that a Point names; messages repeat it.
  void add_folders(std::string_view path) {
    const std::string folders(path.substr(0, folders_length(path)));
    if (folders.empty() || std::find(folders_.begin(), folders_.end(), folders) != folders_.end()) return;
    const auto shorter = std::find_if(folders_.begin(), folders_.end(), [&](const auto& known) { return known.size() < folders.size(); });
    folders_.insert(shorter, folders);
  }
  std::string without(std::string text) const {
    for (const std::string& word : words_) replace_word(text, word);
    return text;
  }
  std::string without_folders(std::string text) const {
    for (const std::string& folders : folders_) remove_folders(text, folders);
    return text;
  }
  size_t size() const { return words_.size() + folders_.size(); }

 private:
  static void replace_word(std::string& text, const std::string& word) {
    for (auto at = text.begin();;) {
      at = std::search(at, text.end(), word.begin(), word.end(), same_letter);
      if (at == text.end()) return;
      const auto end = at + static_cast<std::ptrdiff_t>(word.size());
      const bool whole = (at == text.begin() || !is_word(*(at - 1))) && (end == text.end() || !is_word(*end));
      if (!whole) {
        ++at;
        continue;
      }
      const auto offset = at - text.begin() + static_cast<std::ptrdiff_t>(removed.size());
      text.replace(at, end, removed);
      at = text.begin() + offset;
    }
  }
  // Removes folders where they begin a path: not in the middle of a longer one, which has folders of its own.
  static void remove_folders(std::string& text, const std::string& folders) {
    for (size_t at = text.find(folders); at != std::string::npos; at = text.find(folders, at)) {
      const bool begins = at == 0 || !(is_word(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '/');
      if (begins) {
        text.erase(at, folders.size());
      } else {
        ++at;
      }
    }
  }
  std::vector<std::string> words_, folders_;
};

bool ends_path(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || std::string_view("\"'`()[]{}<>,;|:").find(c) != std::string_view::npos;
}

// An absolute path begins with '/' (or "~/") where no word precedes: "images/s" holds none. It shrinks to its last part.
std::string without_paths(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const bool begins = text[i] == '/' || (text[i] == '~' && i + 1 < text.size() && text[i + 1] == '/');
    const bool after_word = i > 0 && (is_word(text[i - 1]) || text[i - 1] == '.' || text[i - 1] == ')');
    if (!begins || after_word) {
      result += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && !ends_path(text[end])) ++end;
    std::string_view path = text.substr(i, end - i);
    while (!path.empty() && path.back() == '/') path.remove_suffix(1);
    result += path.substr(std::min(path.rfind('/') + 1, path.size()));
    i = end;
  }
  return result;
}

void collect(const Facts& facts, Secrets& secrets) {
  for (const auto& [key, fact] : facts) {
    const auto* text = std::get_if<std::string>(&fact);
    if (text == nullptr) continue;
    if (tells_who(key, fact)) secrets.add_host(*text);
    secrets.add_users_of_paths(*text);
  }
}

std::string cleaned(const std::string& text, const Secrets& secrets) {
  return secrets.without(without_paths(secrets.without_folders(text)));
}

Facts cleaned(const Facts& facts, const Secrets& secrets) {
  Facts result;
  for (const auto& [key, fact] : facts) {
    if (tells_who(key, fact)) continue;
    const auto* text = std::get_if<std::string>(&fact);
    result.emplace_hint(result.end(), cleaned(key, secrets), text == nullptr ? fact : Fact(cleaned(*text, secrets)));
  }
  return result;
}

void clean_point(Point& point, const Secrets& secrets) {
  for (std::string* text : {&point.model, &point.weights, &point.dataset}) *text = cleaned(last_part(*text), secrets);
  for (auto& [key, value] : point.options) value = cleaned(is_path(value) ? last_part(value) : value, secrets);
  for (DeviceId& device : point.placement.devices) {
    if (!device.host.empty()) device.host = removed;
  }
}

void collect(const Record& record, Secrets& secrets) {
  collect(record.facts, secrets);
  for (const DeviceId& device : record.point.placement.devices) secrets.add_host(device.host);
  for (const std::string* text : {&record.point.model, &record.point.weights, &record.point.dataset, &record.reason, &record.stderr_tail,
                                  &record.dataset_description}) {
    secrets.add_users_of_paths(*text);
  }
  for (const auto& [key, value] : record.point.options) secrets.add_users_of_paths(value);
  for (const std::string& note : record.annotations.notes) secrets.add_users_of_paths(note);
  for (const std::string& path : paths_of(record.point)) secrets.add_folders(path);
}

std::set<std::string> cleaned(const std::set<std::string>& texts, const Secrets& secrets) {
  std::set<std::string> result;
  for (const std::string& text : texts) result.insert(cleaned(text, secrets));
  return result;
}

// Returns whether two environments differ in numbers at most, such as free memory: then both lose what was removed from one.
bool same_texts(const Facts& a, const Facts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& left, const auto& right) {
    if (left.first != right.first || left.second.index() != right.second.index()) return false;
    return !std::holds_alternative<std::string>(left.second) || left.second == right.second;
  });
}

}  // namespace

struct Anonymizer::State {
  Secrets secrets;                           // from all Records seen so far: what one gives away goes from the others too
  Facts collected;                           // the last environment that was looked through
  Facts given, cleaned;                      // the last environment that was cleaned
  size_t cleaned_secrets = 0;                // how many secrets were known then
  std::map<std::string, std::string> nodes;  // a name for each, by the first Record that was seen of it: no other Store has the same

  void rename_node(Record& record, const std::string& node, bool is_of_fleet) {
    if (node.empty()) return;
    const std::string first = record.record_id.empty() ? std::to_string(nodes.size() + 1) : record.record_id.substr(0, 12);
    record.facts[is_of_fleet ? fleet_node_fact : host_alias_fact] = nodes.try_emplace(node, "node-" + first).first->second;
  }
};

Anonymizer::Anonymizer() : state_(std::make_unique<State>()) {}
Anonymizer::~Anonymizer() = default;

void Anonymizer::learn(const Record& record) {
  collect(record, state_->secrets);
  if (same_texts(record.environment, state_->collected)) return;
  collect(record.environment, state_->secrets);
  state_->collected = record.environment;
}

void Anonymizer::apply(Record& record) {
  learn(record);
  const Secrets& secrets = state_->secrets;
  if (!same_texts(record.environment, state_->given) || state_->cleaned_secrets != secrets.size()) {
    state_->given = record.environment;
    state_->cleaned = cleaned(record.environment, secrets);
    state_->cleaned_secrets = secrets.size();
  }
  const bool is_of_fleet = record.facts.count(fleet_node_fact) > 0;
  const std::string node = node_of(record);
  Facts environment = state_->cleaned;
  for (auto& [key, fact] : environment) {
    const auto own = record.environment.find(key);  // a key that was cleaned itself is not there, and has a text
    if (own != record.environment.end() && !std::holds_alternative<std::string>(fact)) fact = own->second;
  }
  record.environment = std::move(environment);
  record.facts = cleaned(record.facts, secrets);
  state_->rename_node(record, node, is_of_fleet);
  clean_point(record.point, secrets);
  for (std::string* text :
       {&record.study, &record.tenant, &record.reason, &record.backend_version, &record.dataset_description, &record.stderr_tail}) {
    *text = cleaned(*text, secrets);
  }
  record.annotations = {cleaned(record.annotations.tags, secrets), cleaned(record.annotations.notes, secrets)};
  if (record.check) record.check->against = cleaned(record.check->against, secrets);
}

void anonymize(Record& record) { Anonymizer().apply(record); }

namespace {

void leave_out_reasons(nlohmann::json& value, bool is_reason) {
  if (is_reason && value.is_string() && !value.get_ref<const std::string&>().empty()) value = "left out of an anonymous copy";
  if (!value.is_structured()) return;
  for (const auto& [key, part] : value.items()) leave_out_reasons(part, is_reason || (value.is_object() && key.ends_with("missing")));
}

}  // namespace

std::string anonymous_profile(const std::string& json) {
  nlohmann::json profile = parse_json(json);
  if (!profile.is_object()) throw Error(ErrorKind::input, "damaged profile: it is not JSON");
  leave_out_reasons(profile, false);
  return dump_line(profile);
}

}  // namespace deepgap
