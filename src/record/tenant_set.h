// Tenants: Points that are measured at the same time, each by a process of its own, to see what that costs each of them. Their options
// say so:
//     tenants=resnet50 batch=8 + mobilenet_v2    the whole set, named by what distinguishes its Points
//     tenant=1/2                                which of them this Point is
//     tenant_cpus=share                         each may use all CPUs; split: each is pinned to its part of them
// Pure functions; any thread.
#pragma once

#include <deepgap/point.h>

#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace deepgap {

struct TenantPlace {
  int number = 1;  // from 1
  int count = 2;   // tenants in the set
};

// Makes one set of them, in this order. What they said of an earlier set is forgotten, but for tenant_cpus.
void join_tenants(std::span<Point> points);

// Returns the Point's place; nullopt: it is measured alone.
std::optional<TenantPlace> tenant_place(const Point& point);
// REQUIRES a tenant, as all below.
bool splits_cpus(const Point& point);
// Returns the Point's part of `tenants`: "resnet50 batch=8".
std::string tenant_name(const Point& point);
// Equal for the tenants of one set, and for no other Point.
struct TenantSetKey {
  std::string tenants, tenant_cpus;           // as the options say
  std::map<std::string, std::string> common;  // what all of them are set to
  auto operator<=>(const TenantSetKey&) const = default;
};
TenantSetKey tenant_set_key(const Point& point);
// Returns the key as JSON, to stand beside Points that are measured alone.
std::string text_of(const TenantSetKey& key);

// The Point as it is measured alone.
Point without_tenants(Point point);

}  // namespace deepgap
