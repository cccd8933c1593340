#include "report/page.h"

#include "analysis/words.h"
#include "report/html.h"
#include "report/style.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::string header_of(const PageParts& parts) {
  if (!parts.header.empty()) return parts.header;
  return "<header><div class=\"eyebrow\">" + html_escaped(parts.eyebrow) + "</div><h1>" + html_escaped(parts.title) + "</h1>\n" +
         parts.lede + "</header>";
}

// Returns what a page may run. Images are those that its own script makes to be copied; a page from a file system has no origin, so that
// 'self' may not hold for what lies beside it.
std::string script_policy(const PageParts& parts) {
  if (!parts.script.empty()) return "; script-src 'unsafe-inline'; img-src data:";
  if (!parts.script_files.empty()) return "; script-src 'self' file:; img-src data:";
  return {};
}

std::string script_elements(const PageParts& parts) {
  std::string html = parts.script.empty() ? "" : "<script>" + std::string(parts.script) + "</script>\n";
  for (const std::string& file : parts.script_files) html += "<script src=\"" + html_escaped(file) + "\"></script>\n";
  return html;
}

}  // namespace

std::string html_page(const PageParts& parts) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html_escaped(parts.title) +
         "</title>\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta name=\"generator\" "
         "content=\"deepgap\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'" +
         script_policy(parts) + "\">\n<style>" + report_style() + std::string(parts.own_style) + "</style></head>\n<body>\n" +
         header_of(parts) + "\n<main>\n" + parts.sections + "</main>\n<footer>Made by deepgap" + parts.footer + ".</footer>\n" +
         script_elements(parts) + "</body></html>\n";
}

std::string left_out_note(size_t count, const std::string& one_is, const std::string& many_are) {
  if (count == 0) return {};
  return fmt::format("<p class=\"aside\">{}, to keep this page small.</p>\n", count_of(static_cast<int64_t>(count), one_is, many_are));
}

}  // namespace deepgap
