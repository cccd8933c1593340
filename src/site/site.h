// Results as a static site: a page that loads its data in pieces. Every Point has a row in data files of 5,000 rows; what only the page of
// one Point shows (environment, command, other metrics, trend) is in files of 250 Points that are loaded when somebody looks. 100,000 pages
// in HTML would take a file each for the same texts. The page holds a table of the best results for readers without scripts. Data files are
// scripts that call deepgapSite.add(), because a browser lets a page from a file system load scripts and nothing else; they are ASCII, and
// the page sets every text as text. Pure functions.
#pragma once

#include "analysis/results.h"
#include "analysis/trend/trend.h"

#include <map>
#include <string>
#include <vector>

namespace deepgap {

// The source from which a Point can be repeated.
struct SiteOrigin {
  std::string record_id, store;
};

struct SiteOptions {
  std::string title;
  std::string source;                                             // names of the Stores; may be empty
  std::map<PointOnDevice, SiteOrigin> origins = {};               // origins of the Points that have one
  std::map<PointOnDevice, std::vector<TrendSeries>> trends = {};  // throughput of the Points with several runs
};

struct SiteFile {
  std::string name;  // within the folder of data
  std::string text;
};

// Scripts and data, without the page. Ids of Points are those of their content and device, so links survive new results.
std::vector<SiteFile> site_files(const Results& results, const SiteOptions& options);
// The page, with its data in the folder `data` beside it.
std::string site_page(const Results& results, const SiteOptions& options, const std::string& data);

// The folder `path` becomes or stays a site: new data first, then the page, then old data goes, so that a reader finds the old site or the
// new one and a full disk leaves the old. Other files in it stay. Throws Error{usage} where it is a file, or a folder that is not empty and
// not a site; Error{input} where it cannot be written.
void write_site(const std::string& path, const Results& results, const SiteOptions& options);
// Checks the folder alone, before the work.
void require_site_folder(const std::string& path);

}  // namespace deepgap
