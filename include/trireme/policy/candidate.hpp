// Plans to which a run may change, and the functions that propose them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme::policy {

using plan::Cause;

// A layout that does not change. Copies share it, because planners keep hundreds of candidates.
class SharedLayout {
public:
    SharedLayout(layout::Layout layout = {})
        : layout_(std::make_shared<const layout::Layout>(std::move(layout))) {}

    operator const layout::Layout&() const { return *layout_; }
    const layout::Layout* operator->() const { return layout_.get(); }

    friend bool operator==(const SharedLayout& a, const SharedLayout& b) {
        return a.layout_ == b.layout_ || *a.layout_ == *b.layout_;
    }
    friend bool operator==(const SharedLayout& a, const layout::Layout& b) { return *a.layout_ == b; }

private:
    std::shared_ptr<const layout::Layout> layout_;
};

struct Candidate {
    SharedLayout layout = {};
    int microbatches = 0;            // per step, over all replicas
    std::string schedule = {};       // name of a schedule
    std::vector<Cause> causes = {};  // one per proposer that changed the candidate, in their order
};

// True if the candidates describe the same plan. Their causes may differ.
inline bool are_equal_plans(const Candidate& a, const Candidate& b) {
    return a.layout == b.layout && a.microbatches == b.microbatches && a.schedule == b.schedule;
}

// Returns variations of a candidate. A proposer never judges: an Outlook predicts the times of its candidates,
// and decide() compares them. All ranks propose the same, because an observation is equal on all ranks.
using Proposer =
    std::function<std::vector<Candidate>(const plan::Observation& observed, const Candidate& candidate)>;

}  // namespace trireme::policy
