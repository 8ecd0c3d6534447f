// The reader of tuning tables.
#include "libcoll/select/tuning_table.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using libcoll::fuzz::require;
  const libcoll::Result<libcoll::select::TuningTable> table =
      libcoll::select::read_tuning_table(libcoll::fuzz::as_text(data, size), "fuzz");
  if (!table) {
    require(!table.error().message.empty());
    return 0;
  }
  const libcoll::Result<libcoll::select::TuningTable> again =
      libcoll::select::read_tuning_table(libcoll::select::write_tuning_table(*table), "again");
  require(again.ok() && *again == *table);
  return 0;
}
