// Checks figures in documents against the recorded files that they come from.
//
// A comment in the document names the source of each figure in the text above it, back to the previous such
// comment:
//
//   <!-- figures
//   1.95 s = cpu-xeon-2.1GHz/checkpoint.json /saving/0/step_s
//   1.84 x = a.json /saving/0/step_while_saving_s : a.json /saving/0/step_s
//   2.10 s = a.json /step_seconds; b.json /step_seconds
//   62.5 % = h100-simulated/gpt-13b-weak.csv mfu schedule=zb-h1 ranks=8
//   1.3e-15 = ../../validation/equivalence/results/three_factors.csv max losses case~precision=f64
//   INVALID = cpu-xeon-2.1GHz/against-wall.json /verdict
//   -->
//
// " : " divides two values, and "; " takes the median of several. A value is a file, relative to the folder of
// records, with a JSON pointer, or with a column of a CSV file and the cells that select one row (or the
// largest of several). The figure must occur in the text as written, and agree with the value in all of its
// digits. The unit of the figure scales the value: %, ms, us, k, MB/s, GB/s, GB, MB.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::perf {

// Returns one sentence per fault.
std::vector<std::string> find_wrong_quotes(const std::string& document, const std::filesystem::path& records);

// Number of figures for which the document names a source.
std::size_t count_quotes(const std::string& document);

}  // namespace trireme::perf
