// What every page is around its content: head, style sheet, footer; nothing on it may be loaded from anywhere. Pure.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

struct PageParts {
  std::string eyebrow;  // "deepgap compare"
  std::string title;
  std::string lede;      // HTML below the title; may be empty
  std::string sections;  // HTML
  std::string footer;    // HTML behind "Made by deepgap"
  std::string_view own_style = {};
};
std::string html_page(const PageParts& parts);

}  // namespace deepgap
