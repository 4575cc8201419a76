#include "trireme/base/version.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

std::string version() {
    const BuildFacts facts = build_facts();
    return cat(facts.version, " (", facts.revision.empty() ? "revision unknown" : facts.revision, ")");
}

}  // namespace trireme
