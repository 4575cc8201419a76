#include "trireme/plan/recompute.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

const char* name_of(Recompute recompute) {
    switch (recompute) {
        case Recompute::none:
            return "none";
        case Recompute::selective:
            return "selective";
        case Recompute::full:
            return "full";
    }
    throw BugError("unknown way to recompute");
}

}  // namespace trireme
