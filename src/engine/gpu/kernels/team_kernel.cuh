// The kernel of teams: one thread of the last warpgroup orders copies, all other warpgroups multiply. Text before this: `produce`,
// `consume`, `make_barriers` and where the tables lie (tables_at), as wgmma.cuh and window.cuh have them.
KERNEL() {
  DECLARE_RESIDUAL;
  extern __shared__ unsigned char shared_memory[];
  const unsigned begin = shared_address(shared_memory), base = (begin + 1023) & ~1023u;
  let_next_begin();
  if (threadIdx.x == 0) {
    make_barriers(base);
    barriers_made();
  }
  __syncthreads();
  if (threadIdx.x >= teams * 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(producer_registers));
    if (threadIdx.x == teams * 128) produce(base, source, weights);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(team_registers));
    consume(base, (float*)(shared_memory + (base - begin) + tables_at), scale_bias, residual, target);
  }
}
