// The check that the processor can execute the fast kernels. It lies in app, whose objects are linked first and
// are compiled for any processor, so that it uses no code of src/kernels/cpu, not even a template's.
#pragma once

#include <string>
#include <vector>

#include "trireme/base/version.hpp"

namespace trireme::app {

// The words of `required` that `available` lacks; both have blanks between words.
std::vector<std::string> missing_features(const std::string& required, const std::string& available);

// Throws ResourceError if a processor with the features `available` cannot execute the build's kernels; an
// empty list says nothing of the processor.
void check_features(const BuildFacts& build, const std::string& available, const std::string& host);

// The same for this machine's processor.
void check_processor(const BuildFacts& build);

}  // namespace trireme::app
