#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/page.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::report {
namespace {

// True if all teams have equal size. A team is the tensor-parallel ranks of one replica of a stage.
bool has_equal_teams(const layout::Layout& layout) {
    const std::size_t ranks = layout.stages.front().replicas.front().ranks.size();
    return std::ranges::all_of(layout.stages, [&](const layout::StageLayout& stage) {
        return std::ranges::all_of(stage.replicas, [&](const layout::ReplicaLayout& replica) {
            return replica.ranks.size() == ranks;
        });
    });
}

}  // namespace

std::string describe_grid(const layout::Layout& layout) {
    const std::size_t stages = layout.stages.size();
    if (stages == 0) return "no stages";
    const std::string idle =
        layout.idle.empty() ? "" : cat(", ", format_count(layout.idle.size(), "idle rank"));
    if (is_grid(layout) && has_equal_teams(layout)) {
        const layout::StageLayout& first = layout.stages.front();
        return cat(format_count(stages, "stage"), " x ", format_count(first.replicas.size(), "replica"), " x ",
                   format_count(first.replicas.front().ranks.size(), "tensor rank"), idle);
    }
    std::vector<std::size_t> replicas;
    for (const layout::StageLayout& stage : layout.stages) replicas.push_back(stage.replicas.size());
    return cat(format_count(stages, "stage"), " with ", fmt::format("{}", fmt::join(replicas, ", ")),
               " replicas", idle);
}

std::string describe_stages(const layout::Layout& layout) {
    constexpr std::size_t max_replicas = 16;
    std::size_t replicas = 0;
    for (const layout::StageLayout& stage : layout.stages) replicas += stage.replicas.size();
    if (replicas > max_replicas) return describe_grid(layout);
    return to_string(layout);
}

}  // namespace trireme::report
