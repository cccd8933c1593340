// The frame of every page: head, style sheet, footer; nothing on it may be loaded from anywhere, whatever a Store says. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

struct PageParts {
  std::string eyebrow;  // "deepgap compare"
  std::string title;
  std::string lede;      // HTML below the title; may be empty
  std::string sections;  // HTML
  std::string footer;    // HTML behind "Made by deepgap"
  std::string_view own_style = {};
  std::string header = {};                     // HTML instead of one made of eyebrow, title and lede
  std::string_view script = {};                // empty: the page may run none
  std::vector<std::string> script_files = {};  // beside the page, loaded from there; it may load further ones
};
std::string html_page(const PageParts& parts);

// <p> that says what a page is too small for: "3 more workloads are not drawn, to keep this page small."; empty where that is nothing.
std::string left_out_note(size_t count, const std::string& one_is, const std::string& many_are);

}  // namespace deepgap
