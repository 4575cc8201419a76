#include "trireme/rank/offload_stores.hpp"

#include <functional>
#include <utility>

#include "trireme/archive/partial_file.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/device/worker.hpp"
#include "trireme/setup/elastic_memory.hpp"

namespace trireme::rank {
namespace {

// A thread copies to and from a file whose name is removed at once, so that nothing is left if the run fails.
class FileStore final : public device::OffloadStore {
public:
    explicit FileStore(const archive::PartialFile& named)
        : input_(named.partial_path()), output_(named.partial_path()) {}

    std::unique_ptr<Transfer> save(const std::byte* memory, std::size_t offset, std::size_t bytes) override {
        return start([=, this] { output_.write(offset, {memory, bytes}); });
    }
    std::unique_ptr<Transfer> load(std::byte* memory, std::size_t offset, std::size_t bytes) override {
        return start([=, this] { input_.read(offset, {memory, bytes}); });
    }

private:
    struct Copy final : Transfer {
        Copy(device::Worker& thread, device::Worker::JobId id) : worker(thread), job(id) {}
        void wait() override { worker.wait_for(job); }

        device::Worker& worker;
        device::Worker::JobId job;
    };

    std::unique_ptr<Transfer> start(std::function<void()> job) {
        return std::make_unique<Copy>(worker_, worker_.start(std::move(job)));
    }

    archive::PositionedFile input_;
    archive::WritableFile output_;
    device::Worker worker_;  // declared last, so that it ends before the files that its jobs use
};

}  // namespace

std::unique_ptr<device::OffloadStore> make_file_store(const std::filesystem::path& folder, std::size_t bytes) {
    try {
        // The destructor of PartialFile removes the name.
        const archive::PartialFile named(folder / "offloaded-state", bytes);
        return std::make_unique<FileStore>(named);
    } catch (const Error& error) {
        throw ResourceError(cat(error.what(), "; optimizer state of ", format_bytes(bytes),
                                " cannot be offloaded there; --elastic-means recompute needs no disk"));
    }
}

std::unique_ptr<device::OffloadStore> make_offload_store(const setup::Job& job, int rank,
                                                         device::Stream& stream,
                                                         const std::filesystem::path& folder,
                                                         std::size_t bytes) {
    if (job.devices) {
        const layout::Link link = setup::find_host_link(job, rank);
        return device::make_simulated_store(job.memory_space, bytes, link.latency, link.bandwidth);
    }
    if (stream.is_on_gpu()) return device::make_pinned_store(stream.gpu_times->queue(), bytes);
    return make_file_store(folder, bytes);
}

}  // namespace trireme::rank
