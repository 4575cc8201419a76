#include "ranks/stage/holdings.hpp"

#include <map>

#include "trireme/layout/shares.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::validation {
namespace {

model::ParameterSpec matrix(std::string name, std::size_t rows, std::size_t columns) {
    return model::make_matrix_spec(std::move(name), rows, columns, 1);
}

model::ParameterSpec vector(std::string name, std::size_t size) {
    return make_vector_spec(std::move(name), size, model::Init::zeros);
}

model::ParameterSpec columns_of(const model::ParameterSpec& whole, std::vector<layout::Range> columns) {
    return cut_parameter(whole, model::make_all_channels(whole.all_rows),
                         {whole.all_columns, std::move(columns)});
}

model::ParameterSpec select_rows(const model::ParameterSpec& whole, layout::Range rows) {
    return cut_parameter(whole, {whole.all_rows, {rows}}, model::make_all_channels(whole.all_columns));
}

// Returns the queries, keys and values of the `own` ones of `width` channels.
model::ParameterSpec fused(std::size_t rows, std::size_t width, layout::Range own) {
    return columns_of(matrix("fused", rows, 3 * width),
                      {own, {width + own.begin, own.count}, {2 * width + own.begin, own.count}});
}

Holdings nothing(std::size_t ranks) { return {.specs = std::vector<std::vector<model::ParameterSpec>>(ranks)}; }

std::uint64_t mixed(int rank, const Element& element) {
    const RandomKey key = RandomKey{5}.then(element.tensor).then(static_cast<std::uint64_t>(rank));
    return random_block(key, element.row * 1000 + element.column)[0];
}

}  // namespace

Holdings held_by_all(std::size_t ranks) {
    Holdings all = nothing(ranks);
    for (auto& specs : all.specs) {
        specs = {matrix("table", 37, 3), vector("gain", 5), fused(6, 4, {0, 4}), matrix("out", 9, 8),
                 vector("shift", 1)};
    }
    return all;
}

Holdings make_whole_and_halves(std::size_t ranks) {
    const model::ParameterSpec whole = matrix("matrix", 10, 6);
    Holdings uneven = nothing(ranks);
    uneven.specs[0] = {vector("gain", 7), whole};
    for (std::size_t rank = 1; rank < ranks; ++rank) {
        const layout::Range half = rank % 2 == 1 ? layout::Range{0, 3} : layout::Range{3, 3};
        uneven.specs[rank] = {vector("gain", 7), columns_of(whole, {half})};
    }
    return uneven;
}

Holdings make_tied_table(std::size_t ranks) {
    const model::ParameterSpec table = matrix("table", 30, 4);
    const std::vector<layout::Range> parts = layout::cut_evenly(30, ranks - 1);
    Holdings tied = nothing(ranks);
    tied.specs[0] = {table, matrix("first", 4, 4)};
    for (std::size_t rank = 1; rank < ranks; ++rank) {
        tied.specs[rank] = {matrix(cat("later ", rank), 3, 3), select_rows(table, parts[rank - 1])};
    }
    return tied;
}

Holdings held_twice(std::size_t ranks) {
    const std::size_t pairs = (ranks + 1) / 2;
    Holdings twice = nothing(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const layout::Range keys{2 * (rank / 2), 2};
        twice.specs[rank] = {columns_of(matrix("keys", 8, 2 * pairs), {keys}),
                             columns_of(matrix("queries", 8, 3 * ranks), {{3 * rank, 3}})};
    }
    return twice;
}

Holdings fused_parts(std::size_t ranks) {
    const std::size_t width = 2 * (ranks - 1) + 1;  // uneven shares
    const std::vector<layout::Range> parts = layout::cut_evenly(width, ranks - 1);
    Holdings uneven = nothing(ranks);
    uneven.specs[0] = {fused(7, width, {0, width})};
    for (std::size_t rank = 1; rank < ranks; ++rank) uneven.specs[rank] = {fused(7, width, parts[rank - 1])};
    return uneven;
}

Holdings nothing_on_the_last(std::size_t ranks) {
    Holdings most = held_by_all(ranks);
    most.specs.back().clear();
    return most;
}

Holdings ring_of_neighbours(std::size_t ranks) {
    Holdings ring = nothing(ranks);
    for (std::size_t i = 0; i < 12; ++i) {
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const model::ParameterSpec common = matrix(cat("common ", rank, " ", i), 8, 4);
            ring.specs[rank].push_back(common);
            ring.specs[(rank + 1) % ranks].push_back(common);
        }
    }
    return ring;
}

stage::GradientPlan plan_of(const Holdings& holdings, const layout::BucketRules& rules) {
    stage::GradientPlan plan;
    std::map<std::string, std::size_t> numbers;
    for (std::size_t rank = 0; rank < holdings.specs.size(); ++rank) {
        for (const model::ParameterSpec& spec : holdings.specs[rank]) {
            const auto [place, is_new] = numbers.emplace(spec.name, plan.tensors.size());
            if (is_new) {
                plan.tensors.push_back({spec.name, spec.all_rows, spec.all_columns, place->second, {}});
            }
            for (const layout::Placement& placement : spec.placements) {
                plan.tensors[place->second].slices.push_back({static_cast<int>(rank), placement.box});
            }
        }
    }
    plan.pieces = layout::cut_in_pieces(plan.tensors);
    plan.buckets = fill_buckets(plan.tensors, plan.pieces, rules);
    return plan;
}

void for_each_element(const model::ParameterSpec& spec,
                      const std::function<void(const Element&, std::size_t, std::size_t)>& use) {
    for (const layout::Placement& placement : spec.placements) {
        const auto& [rows, columns] = placement.box;
        for (std::size_t r = 0; r < rows.count; ++r) {
            for (std::size_t c = 0; c < columns.count; ++c) {
                use({spec.name, rows.begin + r, columns.begin + c}, placement.row + r, placement.column + c);
            }
        }
    }
}

std::vector<int> holders_of(const Holdings& holdings, const Element& element) {
    const layout::Box one{{element.row, 1}, {element.column, 1}};
    std::vector<int> holders;
    for (std::size_t rank = 0; rank < holdings.specs.size(); ++rank) {
        for (const model::ParameterSpec& spec : holdings.specs[rank]) {
            if (spec.name != element.tensor) continue;
            for (const layout::Placement& placement : spec.placements) {
                if (!intersect(placement.box, one).is_empty()) holders.push_back(static_cast<int>(rank));
            }
        }
    }
    return holders;
}

double whole_number(int rank, const Element& element) {
    return static_cast<double>(mixed(rank, element) % 41) - 20;
}

double fraction(int rank, const Element& element) {
    return to_unit_interval(static_cast<std::uint32_t>(mixed(rank, element))) - 0.5;
}

}  // namespace trireme::validation
