#include "trireme/checkpoint/state_view.hpp"

#include <algorithm>
#include <tuple>

#include "trireme/archive/float_types.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::checkpoint {
namespace {

// Returns the elements of the box `part`, which lies within the box of `view`.
device::Tensor view_part(const StateView& view, const layout::Box& part) {
    return view.memory.row_range(part.rows.begin - view.box.rows.begin, part.rows.count)
        .column_range(part.columns.begin - view.box.columns.begin, part.columns.count);
}

// Returns the elements of the box `part` in `whole`, a tensor that has the elements of `box`.
device::Tensor view_part(device::Tensor whole, const layout::Box& box, const layout::Box& part) {
    return view_part(StateView{.tensor = {}, .box = box, .memory = whole}, part);
}

// Copies the elements of the box `part` of `view`, which are bf16, to an f32 matrix with the elements of `box`.
void copy_as_f32(const StateView& view, const layout::Box& part, const layout::Box& box,
                 std::span<std::byte> to, const device::WaitPolicy& wait_policy) {
    if (to.size() != box.size() * sizeof(float))
        throw BugError(cat("a box of ", view.tensor, " has ", box.size() * sizeof(float),
                           " bytes as f32, but its destination has ", to.size()));
    std::vector<std::byte> rounded(part.size() * byte_size(device::DType::bf16));
    const device::Tensor copy{rounded.data(), device::DType::bf16, part.rows.count, part.columns.count,
                              part.columns.count};
    copy_rows(view_part(view, part), copy, wait_policy);
    const device::Tensor target = view_part(
        {to.data(), device::DType::f32, box.rows.count, box.columns.count, box.columns.count}, box, part);
    for (std::size_t r = 0; r < part.rows.count; ++r) {
        const device::Tensor row = target.row_range(r, 1);
        convert_floats(
            archive::StoredType::bf16,
            std::span(rounded).subspan(r * copy.row_range(0, 1).bytes(), copy.row_range(0, 1).bytes()),
            archive::StoredType::f32, {static_cast<std::byte*>(row.data), row.bytes()});
    }
}

// Orders views by tensor and field.
bool is_less(const StateView& a, const StateView& b) {
    return std::tie(a.tensor, a.field) < std::tie(b.tensor, b.field);
}

}  // namespace

void add_views(std::vector<StateView>& views, const model::ParameterSpec& spec, StateField field,
               const layout::Box& local, device::Tensor memory) {
    for (const auto& [box, row, column] : find_placements_within(spec.placements, local)) {
        views.push_back(
            {.tensor = spec.name,
             .field = field,
             .box = box,
             .memory = memory.row_range(row, box.rows.count).column_range(column, box.columns.count)});
    }
}

StateViews::StateViews(std::vector<StateView> views) : views_(std::move(views)) {
    std::ranges::sort(views_, is_less);
}

void StateViews::copy(const std::string& tensor, StateField field, const layout::Box& box,
                      std::span<std::byte> to, const device::WaitPolicy& wait_policy) const {
    std::size_t copied_elements = 0;
    const StateView key{.tensor = tensor, .field = field, .box = box, .memory = {}};
    const auto [first, last] = std::equal_range(views_.begin(), views_.end(), key, is_less);
    for (auto view = first; view != last; ++view) {
        const layout::Box overlap = intersect(view->box, box);
        if (overlap.is_empty()) continue;
        if (view->memory.dtype == device::DType::bf16) {
            copy_as_f32(*view, overlap, box, to, wait_policy);
            copied_elements += overlap.size();
            continue;
        }
        const device::Tensor target{to.data(), view->memory.dtype, box.rows.count, box.columns.count,
                                    box.columns.count};
        if (target.bytes() != to.size())
            throw BugError(cat("a box of ", tensor, " has ", target.bytes(), " bytes, but its destination has ",
                               to.size()));
        copy_rows(view_part(*view, overlap), view_part(target, box, overlap), wait_policy);
        copied_elements += overlap.size();
    }
    if (copied_elements != box.size())
        throw BugError(cat("only ", copied_elements, " of the ", box.size(), " requested elements of ", tensor,
                           " are in memory"));
}

}  // namespace trireme::checkpoint
