#include "unit/checkpoint/written.hpp"

#include <algorithm>

#include "trireme/layout/shares.hpp"

namespace trireme::validation {
namespace {

namespace fs = std::filesystem;

// Cuts `size` into `parts` ranges that differ by at most one. Ranges may be empty.
std::vector<layout::Range> ranges_of(std::size_t size, std::size_t parts) {
    std::vector<layout::Range> ranges;
    for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t begin = size * p / parts;
        ranges.push_back({begin, size * (p + 1) / parts - begin});
    }
    return ranges;
}

void add_boxes(checkpoint::CheckpointState& state, std::size_t tensor, bool columns) {
    const std::size_t width = state.tensors[tensor].columns;
    const std::vector<layout::Range> own_rows = ranges_of(state.tensors[tensor].rows, state.parts.size());
    for (std::size_t p = 0; p < state.parts.size(); ++p) {
        for (const layout::Range own_columns : ranges_of(width, columns ? 2 : 1)) {
            const layout::Box box{own_rows[p], own_columns};
            if (!box.is_empty()) state.parts[p].boxes.push_back({tensor, box});
        }
    }
}

}  // namespace

WholeState::WholeState(std::vector<model::ParameterSpec> parameters, std::size_t moments, device::DType dtype)
    : specs(std::move(parameters)) {
    for (std::size_t f = 0; f <= moments; ++f) {
        const model::ParameterTensors& field = fields.emplace_back(specs, dtype, device::MemorySpace::host);
        for (std::size_t p = 0; p < specs.size(); ++p) {
            visit_float(dtype, [&]<class T>(T) {
                const auto values = field[p].flattened().as<T>();
                for (std::size_t e = 0; e < specs[p].size(); ++e)
                    values[e] = static_cast<T>(100000 * f + 1000 * p + e) / 7;
            });
        }
    }
}

std::vector<checkpoint::StateView> WholeState::views() const {
    std::vector<checkpoint::StateView> views;
    for (std::size_t f = 0; f < fields.size(); ++f)
        for (std::size_t p = 0; p < specs.size(); ++p)
            checkpoint::add_views(views, specs[p], checkpoint::to_state_field(f),
                                  {{0, specs[p].rows}, {0, specs[p].columns}}, fields[f][p]);
    return views;
}

std::vector<checkpoint::CheckpointTensor> tensors_of(const WholeState& whole, archive::StoredType source) {
    const archive::StoredType type =
        whole.fields[0][0].dtype == device::DType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
    std::vector<checkpoint::CheckpointTensor> tensors;
    for (const model::ParameterSpec& spec : whole.specs)
        tensors.push_back(checkpoint::make_checkpoint_tensor(spec, type, source));
    return tensors;
}

checkpoint::ModelDescription description_of(const model::ModelConfig& config, const WholeState& whole) {
    return {.config = make_config_text(config, tensors_of(whole, archive::StoredType::f32))};
}

fs::path write_values(const fs::path& checkpoints, const model::ModelConfig& config, const WholeState& whole,
                      std::uint64_t step, const std::string& tokenizer, archive::StoredType source,
                      archive::ExistingFolder existing) {
    checkpoint::ModelDescription description = description_of(config, whole);
    description.tokenizer = tokenizer;
    checkpoint::CheckpointState state = make_checkpoint_state(description, tensors_of(whole, source));
    state.step = step;
    const auto rows = [&](std::size_t tensor, layout::Range range) {
        const device::Tensor part = whole.fields[0][tensor].row_range(range.begin, range.count);
        return std::span(static_cast<const std::byte*>(part.data), part.bytes());
    };
    return checkpoint::write_checkpoint(checkpoints, state, description, rows, existing);
}

checkpoint::UpdateCounts make_update_counts(const WholeState& whole, std::uint64_t updates) {
    checkpoint::UpdateCounts counts;
    for (const model::ParameterSpec& spec : whole.specs) counts[spec.name] = updates;
    return counts;
}

checkpoint::CheckpointState shared_state(const model::ModelConfig& config, const WholeState& whole,
                                         std::uint64_t step, std::size_t ranks, bool columns) {
    checkpoint::CheckpointState state =
        make_checkpoint_state(description_of(config, whole), tensors_of(whole, archive::StoredType::f32));
    state.step = step;
    state.moments = whole.fields.size() - 1;
    for (std::size_t r = 0; r < ranks; ++r) state.parts.push_back({.rank = 2 * r});
    for (std::size_t t = 0; t < state.tensors.size(); ++t) add_boxes(state, t, columns);
    return state;
}

fs::path write_shared(const fs::path& checkpoints, const model::ModelConfig& config, const WholeState& whole,
                      const checkpoint::CheckpointState& state, const checkpoint::PhaseObserver& before) {
    const checkpoint::StateViews views(whole.views());
    checkpoint::CheckpointState earlier = state;  // an earlier save with the same layout
    earlier.save_id = "01234567";
    for (std::size_t p = 0; p < state.parts.size(); ++p) {
        const std::vector<checkpoint::StateBox> boxes = checkpoint::list_boxes(state, state.parts[p]);
        const checkpoint::PartLayout layout(earlier, p);
        const checkpoint::PartWriter writer(make_save_folder(checkpoints, state), state, layout,
                                            make_update_counts(whole, state.step), before);
        std::vector<std::byte> bytes;
        writer.write([&](std::size_t b, layout::Range rows) {
            const auto& [tensor, field, box] = boxes[b];
            const layout::Box part{{box.rows.begin + rows.begin, rows.count}, box.columns};
            bytes.resize(byte_size(state, {tensor, field, part}));
            views.copy(state.tensors[tensor].name, field, part, bytes);
            return std::span<const std::byte>(bytes);
        });
    }
    return checkpoint::complete_checkpoint(checkpoints, state, checkpoint::VirtualModelFile(earlier),
                                           description_of(config, whole), before);
}

}  // namespace trireme::validation
