// Duels: Points that are measured in short turns by workers that all stay loaded, to see by how much one is faster than the first. They
// differ in one axis, and their options say so:
//     duel=backend: native + onnxruntime     the axis, and the contenders by their values of it
//     contender=1/2                          which of them this Point is; all others are compared with the first
// So such a Point is another one than the same measured alone, and their Records are never taken for repeats of each other. Pure functions;
// any thread.
#pragma once

#include <deepgap/point.h>

#include <optional>
#include <span>
#include <string>

namespace deepgap {

struct ContenderPlace {
  int number = 1;  // from 1
  int count = 2;   // contenders in the duel
};

// Makes one duel of them, in this order; `values`: of `axis`, one for each.
void join_duel(std::span<Point> points, const std::string& axis, std::span<const std::string> values);

// Returns the Point's place; nullopt: it takes part in no duel.
std::optional<ContenderPlace> contender_place(const Point& point);
// REQUIRES a contender, as all below.
std::string duel_axis(const Point& point);       // "backend"
std::string contender_name(const Point& point);  // its value of that: "onnxruntime"
std::string first_contender_name(const Point& point);
// The contender without its place and its value: the same for all of one duel, and for no other Point.
Point duel_of(Point point);

// Engines of one run that are interleaved are no duel: each Point is the one that it is alone, and facts of the Record name the others:
//     interleaved.arms=native + onnxruntime     interleaved.arm=1/2
inline constexpr const char* interleaved_arms_fact = "interleaved.arms";
inline constexpr const char* interleaved_arm_fact = "interleaved.arm";
inline constexpr const char* interleaved_result_fact = "interleaved.result";  // how it compares with the first
// The smallest difference that counts between them.
inline constexpr double interleaved_margin = 0.02;

// The Point without its engine and that engine's options: the same for Points that differ in their engine alone.
Point without_engine(Point point);

// The Point as it is measured alone.
Point without_duel(Point point);

}  // namespace deepgap
