#include "checkpoint/part_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/device/wait.hpp"

namespace trireme {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

constexpr std::uint64_t bytes_ahead = std::uint64_t{8} << 20;  // that are fetched while a block is summed

std::string name_of(const CheckpointState& state, const StateBox& box) {
    return array_path(box.field, state.tensors[box.tensor].name, box.box);
}

// A job that has ended before what it uses goes, whatever is thrown meanwhile.
class Ahead {
public:
    explicit Ahead(Worker& worker) : worker_(worker) {}
    Ahead(const Ahead&) = delete;
    Ahead& operator=(const Ahead&) = delete;
    ~Ahead() {
        if (!job_) return;
        wait_until([this] { return worker_.is_done(*job_); },
                   {.stall_seconds = std::numeric_limits<double>::infinity()}, [] { return std::string(); });
    }

    void start(std::function<void()> job) { job_ = worker_.start(std::move(job)); }
    // Throws what the job threw.
    void finish() {
        if (job_) worker_.finish(*std::exchange(job_, std::nullopt));
    }

private:
    Worker& worker_;
    std::optional<Worker::Job> job_;
};

}  // namespace

PartReader::PartReader(const fs::path& path, const CheckpointState& state, const CheckpointPart& part,
                       const std::string& state_sha256, Worker& worker)
    : path_(path), state_(state), file_(hdf5::open_read_only(path, copy_again)), bytes_(path), worker_(worker) {
    const std::string kind = text("format");
    if (kind != format) refuse(cat("is of the kind '", kind, "', not '", format, "'"));
    if (number("schema_version") != version)
        refuse(cat("has the checkpoint schema ", number("schema_version"), ", not ", version));
    if (text(save_name) != state.save || number("part") != part.number || text(state_sum) != state_sha256)
        refuse(cat("is of another save than its name and ", state_file, " say"));
    updates_ = number(update_count);
    read_sums();
}

void PartReader::refuse(const std::string& fault) const {
    throw ConfigError(cat(path_.string(), ' ', fault, "; ", copy_again));
}

std::uint64_t PartReader::number(const char* name) const {
    const auto value = hdf5::read_number(file_.get(), name);
    if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
    return *value;
}

std::string PartReader::text(const char* name) const {
    auto value = hdf5::read_text(file_.get(), name);
    if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
    return std::move(*value);
}

void PartReader::read_sums() {
    const hdf5::Array sums = hdf5::open_array(file_.get(), path_, sums_array, copy_again);
    const bool fits = sums.type == StoredType::u8 && sums.shape.size() == 2 && sums.shape[1] == sum_digits;
    if (!fits || sums.bytes() > bytes_.size()) refuse("is damaged: it has no list of checksums");
    sums_.resize(sums.bytes());
    bytes_.read(sums.offset, std::as_writable_bytes(std::span(sums_)));
}

PartReader::Place PartReader::place_of(const StateBox& box) const {
    const CheckpointTensor& facts = state_.tensors[box.tensor];
    const std::string name = name_of(state_, box);
    const hdf5::Array array = hdf5::open_array(file_.get(), path_, name, copy_again);
    const auto& [rows, columns] = box.box;
    const std::vector<std::uint64_t> place = hdf5::read_numbers(array.dataset.get(), box_attribute);
    const std::vector<std::uint64_t> sums = hdf5::read_numbers(array.dataset.get(), sums_attribute);
    const bool fits =
        array.type == facts.type && array.shape == std::vector<std::uint64_t>{rows.count, columns.count} &&
        place == std::vector<std::uint64_t>{rows.begin, rows.count, columns.begin, columns.count} &&
        sums.size() == 2 && sums[1] > 0 && sums[1] <= std::max<std::size_t>(rows.count, block_bytes);
    if (!fits) refuse(cat("is damaged: ", name, " is not what its name and ", state_file, " say"));
    const std::uint64_t count = (rows.count + sums[1] - 1) / sums[1];
    if (count > sums_.size() / sum_digits || sums[0] > sums_.size() / sum_digits - count)
        refuse(cat("is damaged: ", name, " has no checksums"));
    return {.offset = array.offset,
            .first_sum = sums[0],
            .block_rows = sums[1],
            .row_bytes = columns.count * bytes_of(facts.type)};
}

void PartReader::check(const StateBox& box, std::uint64_t sum, std::span<const std::byte> block) const {
    Sha256 found;
    found.update(block);
    const std::string hex = found.hex();
    const auto recorded = std::string_view(sums_).substr(sum * sum_digits, sum_digits);
    if (hex != recorded)
        refuse(cat("is damaged: the SHA-256 of ", name_of(state_, box), " is ", hex, " in its block ", sum,
                   ", recorded is ", recorded));
}

PartReader::Block PartReader::block_of(const StateBox& box, const Place& place, std::size_t number) const {
    const std::size_t first = number * place.block_rows;
    Block block{.rows = {box.box.rows.begin + first, std::min(place.block_rows, box.box.rows.count - first)},
                .bytes = {}};
    block.bytes.resize(block.rows.count * place.row_bytes);
    const std::uint64_t begin = place.offset + first * place.row_bytes;
    const std::uint64_t next = begin + block.bytes.size();
    const std::uint64_t end = place.offset + box.box.rows.count * place.row_bytes;
    bytes_.expect(next, std::min<std::uint64_t>(bytes_ahead, end - next));
    bytes_.read(begin, block.bytes);
    check(box, place.first_sum + number, block.bytes);
    return block;
}

void PartReader::read(const StateBox& box, const Box& wanted, const UseRows& use) const {
    const Box part = intersection(box.box, wanted);
    if (part.is_empty()) return;
    const Place place = place_of(box);
    const std::size_t first = (part.rows.begin - box.box.rows.begin) / place.block_rows;
    const std::size_t last = (part.rows.end() - 1 - box.box.rows.begin) / place.block_rows;
    const std::size_t column_bytes =
        (part.columns.begin - box.box.columns.begin) * bytes_of(state_.tensors[box.tensor].type);
    Block next = block_of(box, place, first);
    for (std::size_t b = first; b <= last; ++b) {
        const Block block = std::move(next);
        Ahead ahead(worker_);
        if (b < last) ahead.start([&, b] { next = block_of(box, place, b + 1); });
        const Range own = intersection(block.rows, part.rows);
        use({.box = {own, part.columns},
             .first = block.bytes.data() + (own.begin - block.rows.begin) * place.row_bytes + column_bytes,
             .stride = place.row_bytes});
        ahead.finish();
    }
}

CheckpointParts::CheckpointParts(fs::path folder, const CheckpointState& state, std::string state_sha256)
    : folder_(std::move(folder)),
      state_(state),
      state_sha256_(std::move(state_sha256)),
      boxes_(state.tensors.size()),
      parts_(state.parts.size()) {
    for (std::size_t p = 0; p < state.parts.size(); ++p)
        for (const auto& [tensor, box] : state.parts[p].boxes) boxes_[tensor].push_back({p, box});
}

const PartReader& CheckpointParts::part(std::size_t number) const {
    const CheckpointPart& facts = state_.parts[number];
    if (!parts_[number])
        parts_[number] = std::make_unique<PartReader>(folder_ / part_file(state_.save, facts.number), state_,
                                                      facts, state_sha256_, worker_);
    return *parts_[number];
}

template <class Use>
void CheckpointParts::for_each_part_of(std::size_t tensor, const Box& wanted, Use&& use) const {
    for (const auto& [number, box] : boxes_[tensor])
        if (!intersection(box, wanted).is_empty()) use(part(number), box);
}

void CheckpointParts::read(std::size_t tensor, StateField field, const Box& wanted, const UseRows& use) const {
    for_each_part_of(tensor, wanted, [&](const PartReader& reader, const Box& box) {
        reader.read({tensor, field, box}, wanted, use);
    });
}

void CheckpointParts::add_updates(std::set<std::uint64_t>& counts, std::size_t tensor,
                                  const Box& wanted) const {
    for_each_part_of(tensor, wanted,
                     [&](const PartReader& reader, const Box&) { counts.insert(reader.updates()); });
}

void CheckpointParts::verify() const {
    for (std::size_t p = 0; p < state_.parts.size(); ++p)
        for (const StateBox& box : boxes_of(state_, state_.parts[p]))
            part(p).read(box, box.box, [](const StoredRows&) {});
}

}  // namespace trireme
