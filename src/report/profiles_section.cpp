#include "report/profiles_section.h"

#include "report/html.h"
#include "report/profile_page.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr size_t most_lines = 500;

std::string table(const std::vector<ProfileLine>& lines) {
  std::string html =
      "<div class=\"scroll\"><table><tr><th>point</th><th class=\"num\">ms a batch or step</th><th class=\"num\">between layers</th><th "
      "class=\"num\">of measured peak</th><th>mostly bound by</th><th>slowest operator</th></tr>\n";
  for (size_t i = 0; i < lines.size() && i < most_lines; ++i) {
    const ProfileLine& line = lines[i];
    html += fmt::format(
        "<tr><td>{}</td><td class=\"num\">{:.3f}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td>{}</td></tr>\n",
        html_escaped(line.label), line.whole_seconds * 1e3, line.between_share ? share_text(*line.between_share) : "",
        line.of_roof ? share_text(*line.of_roof) : "", html_escaped(line.bound), html_escaped(line.slowest));
  }
  html += "</table></div>";
  if (lines.size() > most_lines)
    html += fmt::format("<p class=\"aside\">{} more profiles are in the store: deepgap export --profile.</p>", lines.size() - most_lines);
  return html;
}

}  // namespace

ProfileLine profile_line(const std::string& label, const StoredProfile& stored) {
  const ProfileRows rows = stored.rows();
  ProfileLine line{label, rows.whole_seconds, {}, rows.all.of_roof, {}, {}};
  if (!rows.layers.empty() && rows.whole_seconds > 0) line.between_share = rows.between_seconds / rows.whole_seconds;
  if (!rows.bounds.empty() && !rows.bounds.front().first.empty())
    line.bound = fmt::format("{}, {} of the time", rows.bounds.front().first, share_text(rows.bounds.front().second));
  if (!rows.groups.empty()) line.slowest = fmt::format("{}, {}", rows.groups.front().name, share_text(rows.groups.front().share));
  return line;
}

std::string profiles_section(const ReportProfiles& profiles) {
  if (profiles.lines.empty()) return {};
  std::string html =
      "<section id=\"profiles\"><h2>Where the time goes</h2><p class=\"aside\">Profiles, layer by layer, taken after everything was timed. "
      "A bubble of a roofline is a family of layers, its area its share of their time; bytes and operations are counted from the network. "
      "All layers: <code>deepgap export STORE --profile</code>.</p>\n" +
      table(profiles.lines);
  if (profiles.drawn.size() < profiles.lines.size())
    html += fmt::format("<p class=\"aside\">Drawn below: one point of each model and engine, {} of {}.</p>\n", profiles.drawn.size(),
                        profiles.lines.size());
  for (const auto& [label, stored] : profiles.drawn)
    html += "<h3>" + html_escaped(label) + "</h3>" + profile_part(stored.header, stored.profile, stored.rows(), stored.machine);
  return html + "</section>";
}

}  // namespace deepgap
